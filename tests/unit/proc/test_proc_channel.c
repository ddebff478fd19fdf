/* The child's side of the frames' descriptor. */
#include "proc/proc.h"
#include "wire/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct {
    int fds[2];
    tsw_inbox_t in;
    tsw_buf_t body;
    uint32_t type;
} pair_t;

static int set_up(void **state)
{
    static pair_t pair;
    pair = (pair_t){.fds = {-1, -1}};
    *state = &pair;
    return socketpair(AF_UNIX, SOCK_STREAM, 0, pair.fds);
}

static int tear_down(void **state)
{
    pair_t *pair = *state;
    for (int i = 0; i < 2; i++)
        if (pair->fds[i] >= 0)
            close(pair->fds[i]);
    tsw_inbox_fini(&pair->in);
    tsw_buf_fini(&pair->body);
    return 0;
}

static tsw_status_t take(pair_t *pair)
{
    return tsw_channel_read(pair->fds[0], &pair->in, &pair->type, &pair->body, NULL);
}

static void close_writer(pair_t *pair)
{
    close(pair->fds[1]);
    pair->fds[1] = -1;
}

static void put(const pair_t *pair, uint32_t type, const char *text)
{
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_buf_append_text(&body, text);
    assert_int_equal(tsw_channel_write(pair->fds[1], type, &body, NULL), TSW_OK);
    tsw_buf_fini(&body);
}

static void test_peek_looks_and_takes_nothing(void **state)
{
    pair_t *pair = *state;
    const uint8_t *body = NULL;
    size_t at = 0, size = 0;
    uint32_t type = 0;
    assert_false(tsw_channel_peek(pair->fds[0], &pair->in, &at, &type, &body, &size));
    put(pair, 1, "one");
    put(pair, 2, "three");
    assert_true(tsw_channel_peek(pair->fds[0], &pair->in, &at, &type, &body, &size));
    assert_int_equal(type, 1);
    assert_int_equal(size, 3);
    assert_memory_equal(body, "one", 3);
    assert_int_equal(at, TSW_FRAME_HEADER_SIZE + 3);
    assert_true(tsw_channel_peek(pair->fds[0], &pair->in, &at, &type, &body, &size));
    assert_memory_equal(body, "three", 5);
    assert_false(tsw_channel_peek(pair->fds[0], &pair->in, &at, &type, &body, &size));
    assert_int_equal(at, 2 * TSW_FRAME_HEADER_SIZE + 8);
    assert_int_equal(take(pair), TSW_OK);
    assert_memory_equal(pair->body.data, "one", 3);
    assert_int_equal(take(pair), TSW_OK);
    assert_int_equal(pair->type, 2);
}

static void test_peek_sees_no_part_of_a_frame_and_no_junk(void **state)
{
    pair_t *pair = *state;
    const uint8_t *body = NULL;
    tsw_buf_t frame = TSW_BUF_INIT, text = TSW_BUF_INIT;
    size_t at = 0, size = 0;
    uint32_t type = 0;
    tsw_buf_append_text(&text, "text");
    tsw_frame_put(&frame, 7, &text);
    assert_int_equal(write(pair->fds[1], frame.data, frame.size - 1), frame.size - 1);
    assert_false(tsw_channel_peek(pair->fds[0], &pair->in, &at, &type, &body, &size));
    assert_int_equal(at, 0);
    assert_int_equal(write(pair->fds[1], frame.data + frame.size - 1, 1), 1);
    assert_true(tsw_channel_peek(pair->fds[0], &pair->in, &at, &type, &body, &size));
    assert_int_equal(type, 7);
    assert_int_equal(write(pair->fds[1], "junkjunkjunk", 12), 12);
    close_writer(pair);
    assert_false(tsw_channel_peek(pair->fds[0], &pair->in, &at, &type, &body, &size));
    assert_int_equal(take(pair), TSW_OK);
    assert_int_equal(take(pair), TSW_ERR_CORRUPT);
    tsw_buf_fini(&frame);
    tsw_buf_fini(&text);
}

static void test_many_frames_go_at_once_and_the_reader_has_the_rest(void **state)
{
    pair_t *pair = *state;
    tsw_buf_t frames = TSW_BUF_INIT, text = TSW_BUF_INIT;
    tsw_buf_append_text(&text, "text");
    tsw_frame_put(&frames, 1, &text);
    tsw_frame_put(&frames, 2, &text);
    assert_false(tsw_channel_has(&pair->in));
    assert_int_equal(tsw_channel_send(pair->fds[1], &frames, NULL), TSW_OK);
    assert_int_equal(frames.size, 0);
    assert_int_equal(take(pair), TSW_OK);
    assert_int_equal(pair->type, 1);
    assert_true(tsw_channel_has(&pair->in));
    assert_int_equal(take(pair), TSW_OK);
    assert_int_equal(pair->type, 2);
    assert_false(tsw_channel_has(&pair->in));
    tsw_frame_put(&frames, 3, &text);
    close(pair->fds[0]);
    assert_int_equal(tsw_channel_send(pair->fds[1], &frames, NULL), TSW_ERR_PEER);
    assert_int_equal(frames.size, 0);
    pair->fds[0] = -1;
    tsw_buf_fini(&frames);
    tsw_buf_fini(&text);
}

static void test_read_when_frames_wait_then_in_order_then_peer(void **state)
{
    pair_t *pair = *state;
    tsw_buf_t body = TSW_BUF_INIT;
    for (uint32_t i = 1; i <= 3; i++) {
        tsw_buf_append(&body, "ab", 2);
        assert_int_equal(tsw_channel_write(pair->fds[1], i, &body, NULL), TSW_OK);
    }
    close_writer(pair);
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(take(pair), TSW_OK);
        assert_int_equal(pair->type, i);
        assert_int_equal(pair->body.size, 2 * i);
    }
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_channel_read(pair->fds[0], &pair->in, &pair->type, &pair->body, &err),
                     TSW_ERR_PEER);
    assert_non_null(strstr(err.text, "closed"));
    tsw_buf_fini(&body);
}

/* What was read ahead is moved now and then, not with each frame: nothing gets lost on the way. */
static void test_many_frames_read_ahead_keep_their_order(void **state)
{
    pair_t *pair = *state;
    const uint8_t *body = NULL;
    size_t at = 0, size = 0;
    uint32_t type = 0, put_so_far = 0;
    char text[512];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (uint32_t i = 0; i < 600; i++) {
        for (; put_so_far < i + 40; put_so_far++) /* about 20 KiB wait */
            put(pair, put_so_far, text + put_so_far % 500);
        if (i % 7 == 0) {
            for (at = 0; tsw_channel_peek(pair->fds[0], &pair->in, &at, &type, &body, &size);) {
            }
            assert_int_equal(type, put_so_far - 1);
        }
        assert_int_equal(take(pair), TSW_OK);
        assert_int_equal(pair->type, i);
        assert_int_equal(pair->body.size, sizeof(text) - 1 - i % 500);
        assert_true(pair->in.bytes.size < 100000);
    }
}

static void test_read_when_cut_then_peer(void **state)
{
    pair_t *pair = *state;
    assert_int_equal(write(pair->fds[1], "TSW1", 4), 4);
    close_writer(pair);
    assert_int_equal(take(pair), TSW_ERR_PEER);
}

static void test_read_when_garbage_then_corrupt(void **state)
{
    pair_t *pair = *state;
    char garbage[64];
    memset(garbage, 'g', sizeof(garbage));
    assert_int_equal(write(pair->fds[1], garbage, sizeof(garbage)), sizeof(garbage));
    assert_int_equal(take(pair), TSW_ERR_CORRUPT);
}

static void test_write_when_reader_gone_then_peer(void **state)
{
    pair_t *pair = *state;
    close_writer(pair);
    tsw_buf_t body = TSW_BUF_INIT;
    assert_int_equal(tsw_channel_write(pair->fds[0], 1, &body, NULL), TSW_ERR_PEER);
}

static void test_descriptor_when_closed_then_io(void **state)
{
    pair_t *pair = *state;
    tsw_buf_t body = TSW_BUF_INIT;
    assert_int_equal(tsw_channel_write(-1, 1, &body, NULL), TSW_ERR_IO);
    assert_int_equal(tsw_channel_read(-1, &pair->in, &pair->type, &pair->body, NULL), TSW_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_peek_looks_and_takes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_frames_read_ahead_keep_their_order, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_many_frames_go_at_once_and_the_reader_has_the_rest,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_peek_sees_no_part_of_a_frame_and_no_junk, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_read_when_frames_wait_then_in_order_then_peer, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_read_when_cut_then_peer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_read_when_garbage_then_corrupt, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_write_when_reader_gone_then_peer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_descriptor_when_closed_then_io, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
