/* CUPTI without a GPU, as a shared library for TSW_LIBCUPTI: an enabled activity sees, at the next
 * flush, what TSW_FAKE_CUPTI says: words "NS" are kernels that took so long, one after the other,
 * "memset" is something else. "refuse" in front makes enabling fail. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, NO_MORE = 12, REFUSED = 35, KERNEL = 10, MEMSET = 2, RECORD_SIZE = 216 };

typedef void (*request_t)(uint8_t **buffer_p, size_t *size_p, size_t *most_p);
typedef void (*complete_t)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                           size_t filled);

static request_t request;
static complete_t complete;
static int enabled;

int cuptiActivityRegisterCallbacks(request_t request_fn, complete_t complete_fn);
int cuptiActivityEnable(int kind);
int cuptiActivityDisable(int kind);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t filled, uint8_t **record_p);

static const char *script(void)
{
    const char *text = getenv("TSW_FAKE_CUPTI");
    return text != NULL ? text : "";
}

int cuptiActivityRegisterCallbacks(request_t request_fn, complete_t complete_fn)
{
    request = request_fn;
    complete = complete_fn;
    return OK;
}

int cuptiActivityEnable(int kind)
{
    if (strncmp(script(), "refuse", 6) == 0)
        return REFUSED;
    enabled = kind == KERNEL;
    return enabled ? OK : REFUSED;
}

int cuptiActivityDisable(int kind)
{
    (void)kind;
    enabled = 0;
    return OK;
}

static void put_record(uint8_t *record, const char *word)
{
    static uint64_t now_ns = 1000;
    uint32_t kind = strncmp(word, "memset", 6) == 0 ? MEMSET : KERNEL;
    uint64_t start_ns = now_ns, end_ns = now_ns + strtoull(word, NULL, 10);
    now_ns = end_ns;
    memset(record, 0, RECORD_SIZE);
    memcpy(record, &kind, sizeof(kind));
    memcpy(record + 16, &start_ns, sizeof(start_ns));
    memcpy(record + 24, &end_ns, sizeof(end_ns));
}

int cuptiActivityFlushAll(uint32_t flag)
{
    uint8_t *buffer = NULL;
    size_t size = 0, most = 0, filled = 0;
    if (!enabled || flag != 1)
        return OK;
    request(&buffer, &size, &most);
    for (const char *at = script(); *at != '\0' && filled + RECORD_SIZE <= size;) {
        put_record(buffer + filled, at);
        filled += RECORD_SIZE;
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    complete(NULL, 0, buffer, size, filled);
    return OK;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t filled, uint8_t **record_p)
{
    uint8_t *next = *record_p == NULL ? buffer : *record_p + RECORD_SIZE;
    if (next + RECORD_SIZE > buffer + filled)
        return NO_MORE;
    *record_p = next;
    return OK;
}
