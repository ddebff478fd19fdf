#include "fake_nvml.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6, TIMED_OUT = 10, LOST = 15 };

typedef struct {
    char uuid[80]; /* as asked for; "" for the GPU that holds an instance */
} gpu_t;

typedef struct {
    unsigned pid;
    unsigned long long memory_bytes;
    unsigned gpu_instance, compute_instance;
} process_t;

typedef struct {
    gpu_t *gpu;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
} event_t;

#define KEY_MAX 64

static gpu_t gpus[8];
static int gpu_count;
static struct {
    char key[48];
    unsigned readings;
} counts[KEY_MAX];
static _Thread_local unsigned calls_here;
static int events_told; /* words of the xid rule */

static void path_of(const char *name, char *out, size_t size)
{
    const char *folder = getenv("TSW_FAKE_NVML");
    snprintf(out, size, "%s/%s", folder != NULL ? folder : "/nowhere", name);
}

static unsigned count_reading(const char *key)
{
    int i = 0;
    while (i < KEY_MAX - 1 && counts[i].key[0] != '\0' && strcmp(counts[i].key, key) != 0)
        i++;
    snprintf(counts[i].key, sizeof(counts[i].key), "%s", key);
    return ++counts[i].readings;
}

/* Whether a line of the script is about this key, now; *value_p: what it says. */
static bool fits(char *line, const gpu_t *gpu, const char *key, unsigned reading, char **value_p)
{
    line[strcspn(line, "#\n")] = '\0';
    char *word = strtok_r(line, " \t", value_p);
    if (word != NULL && strncmp(word, "gpu=", 4) == 0) {
        if (gpu == NULL || strcmp(word + 4, gpu->uuid) != 0)
            return false;
        word = strtok_r(NULL, " \t", value_p);
    }
    if (word == NULL)
        return false;
    char *at = strchr(word, '@');
    unsigned from = 1;
    if (at != NULL) {
        *at = '\0';
        from = (unsigned)strtoul(at + 1, NULL, 10);
    }
    return strcmp(word, key) == 0 && reading >= from;
}

static bool look_up(const gpu_t *gpu, const char *key, char *value, size_t size)
{
    char path[512], line[512], *rest = NULL;
    bool found = false;
    unsigned reading = count_reading(key);
    calls_here++;
    path_of("script", path, sizeof(path));
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (!fits(line, gpu, key, reading, &rest))
            continue;
        snprintf(value, size, "%s", rest != NULL ? rest : "");
        found = true;
    }
    if (file != NULL)
        fclose(file);
    return found;
}

static unsigned long long number(const gpu_t *gpu, const char *key, unsigned long long otherwise)
{
    char value[128];
    return look_up(gpu, key, value, sizeof(value)) ? strtoull(value, NULL, 0) : otherwise;
}

static bool is_yes(const gpu_t *gpu, const char *key)
{
    char value[128];
    return look_up(gpu, key, value, sizeof(value)) && strcmp(value, "yes") == 0;
}

/* What the script wants this function to return, besides OK. */
static int refusal(const gpu_t *gpu, const char *function)
{
    char value[128];
    nanosleep(&(struct timespec){.tv_nsec = (long)number(gpu, "slow", 0) * 1000000}, NULL);
    if (is_yes(gpu, "gone"))
        return LOST;
    return look_up(gpu, function, value, sizeof(value)) ? (int)strtol(value, NULL, 10) : OK;
}

static unsigned locked_mhz(void)
{
    char path[512];
    unsigned mhz = 0;
    path_of("locked", path, sizeof(path));
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%u", &mhz) != 1)
        mhz = 0;
    fclose(file);
    return mhz;
}

/* Words of text as numbers, at most `most`. */
static unsigned numbers(const char *text, unsigned *out, unsigned most)
{
    unsigned count = 0;
    char *end = NULL;
    for (const char *at = text; count < most; at = end) {
        unsigned long value = strtoul(at, &end, 10);
        if (end == at)
            break;
        out[count++] = (unsigned)value;
    }
    return count;
}

unsigned fake_nvml_calls(void)
{
    return calls_here;
}

/* ---- the calls ---- */

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlSystemGetDriverVersion(char *out, unsigned size);
int nvmlDeviceGetHandleByUUID(const char *uuid, gpu_t **gpu_p);
int nvmlDeviceGetName(gpu_t *gpu, char *out, unsigned size);
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(gpu_t *instance, gpu_t **gpu_p);
int nvmlDeviceGetClockInfo(gpu_t *gpu, int type, unsigned *mhz_p);
int nvmlDeviceGetMaxClockInfo(gpu_t *gpu, int type, unsigned *mhz_p);
int nvmlDeviceGetPowerUsage(gpu_t *gpu, unsigned *milliwatt_p);
int nvmlDeviceGetTemperature(gpu_t *gpu, int sensor, unsigned *celsius_p);
int nvmlDeviceGetCurrentClocksThrottleReasons(gpu_t *gpu, unsigned long long *mask_p);
int nvmlDeviceGetComputeRunningProcesses_v3(gpu_t *gpu, unsigned *count_p, process_t *processes);
int nvmlDeviceGetTotalEccErrors(gpu_t *gpu, int kind, int counter, unsigned long long *count_p);
int nvmlDeviceGetTotalEnergyConsumption(gpu_t *gpu, unsigned long long *millijoule_p);
int nvmlEventSetCreate(void **events_p);
int nvmlEventSetFree(void *events);
int nvmlDeviceRegisterEvents(gpu_t *gpu, unsigned long long types, void *events);
int nvmlEventSetWait_v2(void *events, event_t *event_p, unsigned timeout_ms);
int nvmlDeviceGetSupportedMemoryClocks(gpu_t *gpu, unsigned *count_p, unsigned *mhz);
int nvmlDeviceGetSupportedGraphicsClocks(gpu_t *gpu, unsigned memory_mhz, unsigned *count_p,
                                         unsigned *mhz);
int nvmlDeviceSetGpuLockedClocks(gpu_t *gpu, unsigned min_mhz, unsigned max_mhz);
int nvmlDeviceResetGpuLockedClocks(gpu_t *gpu);

int nvmlInit_v2(void)
{
    gpu_count = 0;
    memset(counts, 0, sizeof(counts));
    events_told = 0;
    return refusal(NULL, "nvmlInit_v2");
}

int nvmlShutdown(void)
{
    return OK;
}

int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    snprintf(out, size, "580.1.2");
    return OK;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, gpu_t **gpu_p)
{
    gpu_t gpu;
    char profile[64];
    snprintf(gpu.uuid, sizeof(gpu.uuid), "%s", uuid);
    if (is_yes(&gpu, "absent") || gpu_count == sizeof(gpus) / sizeof(gpus[0]))
        return NOT_FOUND;
    /* An instance is known by its own kind of name alone. */
    if (strncmp(uuid, "GPU-", 4) == 0 && look_up(&gpu, "mig", profile, sizeof(profile)))
        return NOT_FOUND;
    gpus[gpu_count] = gpu;
    *gpu_p = &gpus[gpu_count++];
    return OK;
}

int nvmlDeviceGetName(gpu_t *gpu, char *out, unsigned size)
{
    char profile[64];
    bool is_instance = look_up(gpu, "mig", profile, sizeof(profile));
    snprintf(out, size, "Fake GPU%s%s", is_instance ? " MIG " : "", is_instance ? profile : "");
    return refusal(gpu, "nvmlDeviceGetName");
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(gpu_t *instance, gpu_t **gpu_p)
{
    static gpu_t whole;
    char profile[64];
    if (!look_up(instance, "mig", profile, sizeof(profile)))
        return NOT_FOUND;
    *gpu_p = &whole;
    return OK;
}

int nvmlDeviceGetClockInfo(gpu_t *gpu, int type, unsigned *mhz_p)
{
    unsigned locked = is_yes(gpu, "stuck") ? 0 : locked_mhz();
    *mhz_p = (unsigned)(type == 1 ? number(gpu, "clock", 1980) : number(gpu, "memory", 2619));
    if (type == 1 && locked != 0)
        *mhz_p = locked;
    return refusal(gpu, "nvmlDeviceGetClockInfo");
}

int nvmlDeviceGetMaxClockInfo(gpu_t *gpu, int type, unsigned *mhz_p)
{
    *mhz_p = type == 1 ? (unsigned)number(gpu, "max", 1980) : 2619;
    return refusal(gpu, "nvmlDeviceGetMaxClockInfo");
}

int nvmlDeviceGetPowerUsage(gpu_t *gpu, unsigned *milliwatt_p)
{
    *milliwatt_p = (unsigned)number(gpu, "power", 400) * 1000;
    return refusal(gpu, "nvmlDeviceGetPowerUsage");
}

int nvmlDeviceGetTemperature(gpu_t *gpu, int sensor, unsigned *celsius_p)
{
    (void)sensor;
    *celsius_p = (unsigned)number(gpu, "temperature", 60);
    return refusal(gpu, "nvmlDeviceGetTemperature");
}

int nvmlDeviceGetCurrentClocksThrottleReasons(gpu_t *gpu, unsigned long long *mask_p)
{
    *mask_p = number(gpu, "reasons", 0);
    return refusal(gpu, "nvmlDeviceGetCurrentClocksThrottleReasons");
}

int nvmlDeviceGetTotalEccErrors(gpu_t *gpu, int kind, int counter, unsigned long long *count_p)
{
    if (counter != 0)
        return NOT_SUPPORTED;
    *count_p = number(gpu, kind == 0 ? "corrected" : "uncorrected", 0);
    return refusal(gpu, "nvmlDeviceGetTotalEccErrors");
}

int nvmlDeviceGetSupportedMemoryClocks(gpu_t *gpu, unsigned *count_p, unsigned *mhz)
{
    if (*count_p < 2)
        return 7;
    *count_p = 2;
    mhz[0] = 1500;
    mhz[1] = 2619;
    return refusal(gpu, "nvmlDeviceGetSupportedMemoryClocks");
}

int nvmlDeviceGetSupportedGraphicsClocks(gpu_t *gpu, unsigned memory_mhz, unsigned *count_p,
                                         unsigned *mhz)
{
    char list[256] = "1980 1965 1500 1200 345";
    if (memory_mhz != 2619)
        return NOT_FOUND;
    (void)look_up(gpu, "supported", list, sizeof(list));
    *count_p = numbers(list, mhz, *count_p);
    return refusal(gpu, "nvmlDeviceGetSupportedGraphicsClocks");
}

#ifndef FAKE_NVML_OLD

int nvmlDeviceGetComputeRunningProcesses_v3(gpu_t *gpu, unsigned *count_p, process_t *processes)
{
    char list[256] = "";
    unsigned pids[32];
    (void)look_up(gpu, "processes", list, sizeof(list));
    unsigned count = numbers(list, pids, 31);
    pids[count++] = (unsigned)getpid();
    const bool fit = *count_p >= count;
    *count_p = count;
    for (unsigned i = 0; fit && i < count; i++)
        processes[i] = (process_t){.pid = pids[i]};
    return fit ? refusal(gpu, "nvmlDeviceGetComputeRunningProcesses_v3") : 7;
}

int nvmlDeviceGetTotalEnergyConsumption(gpu_t *gpu, unsigned long long *millijoule_p)
{
    static unsigned long long reading;
    char text[128] = "0 400 1";
    unsigned values[3] = {0, 0, 1};
    (void)look_up(gpu, "energy", text, sizeof(text));
    (void)numbers(text, values, 3);
    *millijoule_p = values[0] + ++reading / values[2] * values[1];
    return refusal(gpu, "nvmlDeviceGetTotalEnergyConsumption");
}

int nvmlEventSetCreate(void **events_p)
{
    static int set;
    *events_p = &set;
    return refusal(NULL, "nvmlEventSetCreate");
}

int nvmlEventSetFree(void *events)
{
    (void)events;
    return OK;
}

static gpu_t *watched;

int nvmlDeviceRegisterEvents(gpu_t *gpu, unsigned long long types, void *events)
{
    (void)events;
    watched = gpu;
    return types == 8 ? refusal(gpu, "nvmlDeviceRegisterEvents") : NOT_SUPPORTED;
}

int nvmlEventSetWait_v2(void *events, event_t *event_p, unsigned timeout_ms)
{
    char list[256] = "";
    unsigned xids[32];
    (void)events;
    (void)timeout_ms;
    (void)look_up(watched, "xid", list, sizeof(list));
    if (events_told >= (int)numbers(list, xids, 32))
        return TIMED_OUT;
    *event_p = (event_t){.gpu = watched, .type = 8, .data = xids[events_told++]};
    return OK;
}

static void note(const char *what, const gpu_t *gpu, unsigned mhz)
{
    char path[512], line[160];
    path_of("log", path, sizeof(path));
    FILE *file = fopen(path, "a");
    if (file == NULL)
        return;
    if (mhz > 0)
        snprintf(line, sizeof(line), "%s %s %u\n", what, gpu->uuid, mhz);
    else
        snprintf(line, sizeof(line), "%s %s\n", what, gpu->uuid);
    fputs(line, file);
    fclose(file);
}

int nvmlDeviceSetGpuLockedClocks(gpu_t *gpu, unsigned min_mhz, unsigned max_mhz)
{
    char path[512], permission[16] = "yes";
    (void)look_up(gpu, "permission", permission, sizeof(permission));
    int result = strcmp(permission, "no") == 0 ? NO_PERMISSION
                                               : refusal(gpu, "nvmlDeviceSetGpuLockedClocks");
    path_of("locked", path, sizeof(path));
    FILE *file = result == OK ? fopen(path, "w") : NULL;
    if (file != NULL) {
        fprintf(file, "%u\n", max_mhz);
        fclose(file);
    }
    if (min_mhz != max_mhz)
        return 2;
    note(result == OK ? "lock" : "lock refused", gpu, max_mhz);
    return result;
}

int nvmlDeviceResetGpuLockedClocks(gpu_t *gpu)
{
    char path[512];
    int result = refusal(gpu, "nvmlDeviceResetGpuLockedClocks");
    path_of("locked", path, sizeof(path));
    if (result == OK)
        (void)unlink(path);
    note(result == OK ? "unlock" : "unlock refused", gpu, 0);
    return result;
}

#endif
