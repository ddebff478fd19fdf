#include "wire/wire.h"

#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void test_values_round_trip(void **state)
{
    (void)state;
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_put_u8(&out, 200);
    tsw_put_u32(&out, 0x01020304u);
    tsw_put_u64(&out, UINT64_MAX);
    tsw_put_i64(&out, INT64_MIN);
    tsw_put_f64(&out, -0.0);
    tsw_put_f64(&out, NAN);
    tsw_put_text(&out, "");
    tsw_put_text(&out, "shape");
    tsw_put_bytes(&out, "a\0b", 3);
    tsw_put_key(&out, (tsw_key_t){.hi = 1, .lo = 2});
    assert_true(tsw_buf_ok(&out));
    assert_int_equal(out.data[1], 4); /* little-endian, whatever the host */

    tsw_reader_t in = tsw_reader(out.data, out.size);
    size_t size = 0;
    char text[6];
    assert_int_equal(tsw_get_u8(&in), 200);
    assert_int_equal(tsw_get_u32(&in), 0x01020304u);
    assert_true(tsw_get_u64(&in) == UINT64_MAX);
    assert_true(tsw_get_i64(&in) == INT64_MIN);
    assert_true(signbit(tsw_get_f64(&in)) != 0);
    assert_true(isnan(tsw_get_f64(&in)));
    char *heap = tsw_get_text(&in);
    assert_string_equal(heap, "");
    tsw_free(heap);
    tsw_get_text_into(&in, text, sizeof(text));
    assert_string_equal(text, "shape");
    assert_memory_equal(tsw_get_bytes(&in, &size), "a\0b", 3);
    assert_int_equal(size, 3);
    assert_false(tsw_reader_done(&in));
    assert_int_equal(tsw_get_key(&in).lo, 2);
    assert_true(tsw_reader_done(&in));
    tsw_buf_fini(&out);
}

static void test_reading_past_the_end_sticks(void **state)
{
    (void)state;
    tsw_reader_t in = tsw_reader("\x01\x02\x03", 3);
    assert_int_equal(tsw_get_u32(&in), 0);
    assert_true(in.failed);
    assert_int_equal(tsw_get_u8(&in), 0); /* although there are bytes left */
    assert_false(tsw_reader_done(&in));
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_reader_check(&in, "hello", &err), TSW_ERR_CORRUPT);
    assert_string_equal(err.text, "hello: broken near byte 0 of 3");
}

static void test_text_is_refused_when_long_or_with_a_zero(void **state)
{
    (void)state;
    tsw_buf_t out = TSW_BUF_INIT;
    char text[4] = "xxx";
    tsw_put_text(&out, "four");
    tsw_reader_t in = tsw_reader(out.data, out.size);
    tsw_get_text_into(&in, text, sizeof(text));
    assert_true(in.failed);
    assert_string_equal(text, "");
    tsw_buf_clear(&out);
    tsw_put_bytes(&out, "a\0b", 3);
    in = tsw_reader(out.data, out.size);
    assert_null(tsw_get_text(&in));
    assert_true(in.failed);
    tsw_buf_fini(&out);
}

static void test_counts_are_bounded_by_what_is_there(void **state)
{
    (void)state;
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_put_u64(&out, 2);
    tsw_put_u64(&out, 0);
    tsw_put_u64(&out, 0);
    tsw_reader_t in = tsw_reader(out.data, out.size);
    assert_int_equal(tsw_get_count(&in, 8), 2);
    in = tsw_reader(out.data, out.size);
    assert_int_equal(tsw_get_count(&in, 9), 0);
    assert_true(in.failed);
    memset(out.data, 0xff, 8); /* 2^64 - 1 items: must not wrap */
    in = tsw_reader(out.data, out.size);
    assert_int_equal(tsw_get_count(&in, 16), 0);
    assert_true(in.failed);
    in = tsw_reader(out.data, out.size);
    assert_null(tsw_get_text(&in));
    assert_true(in.failed);
    tsw_buf_fini(&out);
}

static void test_text_out_of_memory_is_told_apart(void **state)
{
    (void)state;
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_put_text(&out, "text");
    tsw_reader_t in = tsw_reader(out.data, out.size);
    tsw_mem_fail_at(1);
    assert_null(tsw_get_text(&in));
    tsw_mem_fail_at(0);
    assert_int_equal(tsw_reader_check(&in, "text", NULL), TSW_ERR_NOMEM);
    tsw_buf_fini(&out);
}

static void make_set(tsw_fileset_t *set)
{
    assert_int_equal(tsw_fileset_add(set, "job.yaml", "name: x\n", 8, NULL), TSW_OK);
    assert_int_equal(tsw_fileset_add(set, "kernels/a/empty", "", 0, NULL), TSW_OK);
    assert_int_equal(tsw_fileset_add(set, "kernels/a/bin", "\0\1\2", 3, NULL), TSW_OK);
}

static void test_fileset_round_trip(void **state)
{
    (void)state;
    tsw_fileset_t set = TSW_FILESET_INIT;
    tsw_fileset_t copy = TSW_FILESET_INIT;
    tsw_buf_t out = TSW_BUF_INIT;
    make_set(&set);
    tsw_put_fileset(&out, &set);
    tsw_reader_t in = tsw_reader(out.data, out.size);
    assert_int_equal(tsw_get_fileset(&in, &copy, NULL), TSW_OK);
    assert_true(tsw_reader_done(&in));
    assert_int_equal(copy.count, set.count);
    for (size_t i = 0; i < set.count; i++) {
        assert_string_equal(copy.items[i].name, set.items[i].name);
        assert_int_equal(copy.items[i].size, set.items[i].size);
        assert_memory_equal(copy.items[i].bytes, set.items[i].bytes, set.items[i].size);
    }
    tsw_fileset_fini(&copy);
    for (size_t size = 0; size < out.size; size++) {
        in = tsw_reader(out.data, size);
        assert_int_equal(tsw_get_fileset(&in, &copy, NULL), TSW_ERR_CORRUPT);
        assert_null(copy.items);
    }
    tsw_fileset_fini(&set);
    tsw_buf_fini(&out);
}

static void test_fileset_with_a_name_twice_is_corrupt(void **state)
{
    (void)state;
    tsw_fileset_t copy = TSW_FILESET_INIT;
    tsw_buf_t out = TSW_BUF_INIT;
    tsw_put_u64(&out, 2);
    for (int i = 0; i < 2; i++) {
        tsw_put_text(&out, "same");
        tsw_put_bytes(&out, "x", 1);
    }
    tsw_reader_t in = tsw_reader(out.data, out.size);
    assert_int_equal(tsw_get_fileset(&in, &copy, NULL), TSW_ERR_CORRUPT);
    tsw_buf_fini(&out);
}

static void make_stream(tsw_buf_t *stream)
{
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_buf_append_text(&body, "first");
    tsw_frame_put(stream, 7, &body);
    tsw_buf_clear(&body);
    tsw_frame_put(stream, 8, &body); /* an empty body is fine */
    tsw_buf_fini(&body);
    assert_true(tsw_buf_ok(stream));
    assert_int_equal(stream->size, 2 * TSW_FRAME_HEADER_SIZE + 5);
}

static void test_frames_come_one_by_one(void **state)
{
    (void)state;
    tsw_buf_t stream = TSW_BUF_INIT;
    make_stream(&stream);
    uint32_t type = 0;
    const uint8_t *body = NULL;
    size_t body_size = 0;
    size_t size = 0;
    assert_int_equal(tsw_frame_next(&stream, &type, &body, &body_size, &size, NULL), TSW_OK);
    assert_int_equal(type, 7);
    assert_int_equal(body_size, 5);
    assert_memory_equal(body, "first", 5);
    tsw_buf_consume(&stream, size);
    assert_int_equal(tsw_frame_next(&stream, &type, &body, &body_size, &size, NULL), TSW_OK);
    assert_int_equal(type, 8);
    assert_int_equal(body_size, 0);
    tsw_buf_consume(&stream, size);
    assert_int_equal(tsw_frame_next(&stream, &type, &body, &body_size, &size, NULL), TSW_OK);
    assert_int_equal(size, 0);
    tsw_buf_fini(&stream);
}

static void test_a_frame_in_parts_waits(void **state)
{
    (void)state;
    tsw_buf_t stream = TSW_BUF_INIT;
    make_stream(&stream);
    for (size_t n = 0; n < TSW_FRAME_HEADER_SIZE + 5; n++) {
        tsw_buf_t part = TSW_BUF_INIT;
        tsw_buf_append(&part, stream.data, n);
        uint32_t type = 0;
        const uint8_t *body = NULL;
        size_t body_size = 0;
        size_t size = 1;
        assert_int_equal(tsw_frame_next(&part, &type, &body, &body_size, &size, NULL), TSW_OK);
        assert_int_equal(size, 0);
        tsw_buf_fini(&part);
    }
    tsw_buf_fini(&stream);
}

static tsw_status_t next_with(size_t at, uint8_t flip, tsw_err_t *err)
{
    tsw_buf_t stream = TSW_BUF_INIT;
    make_stream(&stream);
    stream.data[at] ^= flip;
    uint32_t type = 0;
    const uint8_t *body = NULL;
    size_t body_size = 0;
    size_t size = 0;
    tsw_status_t status = tsw_frame_next(&stream, &type, &body, &body_size, &size, err);
    tsw_buf_fini(&stream);
    return status;
}

static void test_wrong_headers_are_told_apart(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    for (size_t at = 0; at < 4; at++)
        assert_int_equal(next_with(at, 1, &err), TSW_ERR_CORRUPT);
    for (size_t at = 8; at < 16; at++)
        assert_int_equal(next_with(at, 1, &err), TSW_ERR_VERSION);
    assert_non_null(strstr(err.text, "another build of tilesweep"));
    assert_int_equal(next_with(20, 2, &err), TSW_ERR_CORRUPT); /* over 4 GiB */
    assert_int_equal(next_with(23, 0x80, &err), TSW_ERR_CORRUPT);
}

static void test_garbage_is_seen_from_four_bytes_on(void **state)
{
    (void)state;
    tsw_buf_t stream = TSW_BUF_INIT;
    tsw_buf_append_text(&stream, "prin");
    uint32_t type = 0;
    const uint8_t *body = NULL;
    size_t body_size = 0;
    size_t size = 0;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_frame_next(&stream, &type, &body, &body_size, &size, &err),
                     TSW_ERR_CORRUPT);
    assert_string_equal(err.text, "not a frame: it starts with 0x6e697270");
    tsw_buf_fini(&stream);
}

static void test_a_failed_body_fails_the_stream(void **state)
{
    (void)state;
    tsw_buf_t body = TSW_BUF_INIT;
    tsw_buf_t stream = TSW_BUF_INIT;
    tsw_mem_fail_at(1);
    tsw_put_u32(&body, 1);
    tsw_mem_fail_at(0);
    tsw_frame_put(&stream, 1, &body);
    assert_false(tsw_buf_ok(&stream));
    assert_int_equal(stream.size, 0);
    tsw_buf_fini(&body);
    tsw_buf_fini(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_round_trip),
        cmocka_unit_test(test_reading_past_the_end_sticks),
        cmocka_unit_test(test_text_is_refused_when_long_or_with_a_zero),
        cmocka_unit_test(test_counts_are_bounded_by_what_is_there),
        cmocka_unit_test(test_text_out_of_memory_is_told_apart),
        cmocka_unit_test(test_fileset_round_trip),
        cmocka_unit_test(test_fileset_with_a_name_twice_is_corrupt),
        cmocka_unit_test(test_frames_come_one_by_one),
        cmocka_unit_test(test_a_frame_in_parts_waits),
        cmocka_unit_test(test_wrong_headers_are_told_apart),
        cmocka_unit_test(test_garbage_is_seen_from_four_bytes_on),
        cmocka_unit_test(test_a_failed_body_fails_the_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
