/* Segments on their way from a node's folder to the run folder, and what may happen to them. */
#include "store/transfer.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "store/store_seal.h"
#include "temp_dir.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

/* Three pieces, the last one short. */
#define FILE_BYTES (TSW_SEAL_SIZE + 2 * TSW_PIECE_BYTES + 100)
#define NAME       "a0001-r0003/000001.h5"

/* A file whose seal fits, below DIR/parts/. */
static void write_sealed(const char *dir, const char *name, size_t size)
{
    char path[700];
    uint8_t *bytes = tsw_malloc(size);
    assert_non_null(bytes);
    for (size_t i = TSW_SEAL_SIZE; i < size; i++)
        bytes[i] = (uint8_t)tsw_rng_u64(5, i, 0, 0, 0);
    tsw_seal_format(bytes + TSW_SEAL_SIZE, size - TSW_SEAL_SIZE, (char *)bytes);
    snprintf(path, sizeof(path), "%s/parts/%s", dir, name);
    *strrchr(path, '/') = '\0';
    assert_int_equal(tsw_dir_make(path, NULL), TSW_OK);
    path[strlen(path)] = '/';
    assert_int_equal(tsw_file_write_atomic(path, bytes, size, NULL), TSW_OK);
    tsw_free(bytes);
}

typedef struct {
    char near[600], far[600];
    tsw_outbox_t *outbox;
} world_t;

static int make_world(void **state)
{
    static world_t world;
    tsw_temp_dir_make(state);
    snprintf(world.near, sizeof(world.near), "%s", tsw_temp_path("near"));
    snprintf(world.far, sizeof(world.far), "%s", tsw_temp_path("far"));
    assert_int_equal(tsw_outbox_open(world.near, &world.outbox, NULL), TSW_OK);
    *state = &world;
    return 0;
}

static int free_world(void **state)
{
    tsw_outbox_close(((world_t *)*state)->outbox);
    return tsw_temp_dir_remove(state);
}

/* Sends one piece as it is; where the next one must start. */
static uint64_t send_one(world_t *world)
{
    tsw_piece_t piece;
    uint64_t next = UINT64_MAX;
    assert_true(tsw_outbox_next(world->outbox, &piece));
    assert_int_equal(tsw_store_take_piece(world->far, &piece, &next, NULL), TSW_OK);
    assert_int_equal(tsw_outbox_receipt(world->outbox, piece.name, next, NULL), TSW_OK);
    return next;
}

static bool is_there(const char *dir, const char *name)
{
    char path[700];
    snprintf(path, sizeof(path), "%s/parts/%s", dir, name);
    return tsw_path_exists(path);
}

static void assert_same(const world_t *world, const char *name, const tsw_buf_t *before)
{
    char path[700];
    tsw_buf_t after = TSW_BUF_INIT;
    snprintf(path, sizeof(path), "%s/parts/%s", world->far, name);
    assert_int_equal(tsw_file_read(path, &after, NULL), TSW_OK);
    assert_int_equal(after.size, before->size);
    assert_memory_equal(after.data, before->data, after.size);
    tsw_buf_fini(&after);
}

static void queue_one(world_t *world, tsw_buf_t *bytes)
{
    char path[700];
    write_sealed(world->near, NAME, FILE_BYTES);
    snprintf(path, sizeof(path), "%s/parts/" NAME, world->near);
    assert_int_equal(tsw_file_read(path, bytes, NULL), TSW_OK);
    assert_int_equal(tsw_outbox_add(world->outbox, 1, 3, 1, NULL), TSW_OK);
}

static void test_transfer_when_all_is_well_then_moved(void **state)
{
    world_t *world = *state;
    tsw_piece_t piece;
    tsw_buf_t bytes = TSW_BUF_INIT;
    assert_false(tsw_outbox_next(world->outbox, &piece));
    queue_one(world, &bytes);
    assert_int_equal(send_one(world), TSW_PIECE_BYTES);
    assert_false(is_there(world->far, NAME)); /* never half of it under its name */
    assert_true(tsw_outbox_next(world->outbox, &piece));
    assert_int_equal(piece.offset, TSW_PIECE_BYTES);
    tsw_piece_t other;
    assert_false(tsw_outbox_next(world->outbox, &other)); /* one at a time */
    assert_int_equal(tsw_outbox_receipt(world->outbox, NAME, piece.offset, NULL), TSW_OK);
    assert_int_equal(send_one(world), 2 * TSW_PIECE_BYTES);
    assert_true(is_there(world->near, NAME));
    assert_int_equal(send_one(world), FILE_BYTES);
    assert_false(is_there(world->near, NAME));
    assert_same(world, NAME, &bytes);
    assert_true(tsw_outbox_is_empty(world->outbox));
    tsw_outbox_close(world->outbox);
    world->outbox = NULL;
    assert_false(tsw_path_exists(world->near)); /* nothing is left of it */
    tsw_buf_fini(&bytes);
}

static void test_transfer_when_a_piece_is_damaged_then_it_comes_again(void **state)
{
    world_t *world = *state;
    tsw_piece_t piece;
    uint64_t next = 0;
    tsw_buf_t bytes = TSW_BUF_INIT;
    queue_one(world, &bytes);
    send_one(world);
    assert_true(tsw_outbox_next(world->outbox, &piece));
    uint8_t *wrong = tsw_malloc(piece.count);
    memcpy(wrong, piece.bytes, piece.count);
    wrong[77] ^= 1;
    tsw_piece_t damaged = piece;
    damaged.bytes = wrong;
    assert_int_equal(tsw_store_take_piece(world->far, &damaged, &next, NULL), TSW_OK);
    assert_int_equal(next, piece.offset);
    assert_int_equal(tsw_outbox_receipt(world->outbox, NAME, next, NULL), TSW_OK);
    while (!tsw_outbox_is_empty(world->outbox))
        send_one(world);
    assert_same(world, NAME, &bytes);
    tsw_free(wrong);
    tsw_buf_fini(&bytes);
}

/* Damaged before its checksum was made, or on the disk there: the file's own seal sees it. */
static void test_transfer_when_a_file_is_damaged_then_it_comes_again(void **state)
{
    world_t *world = *state;
    char tmp[700];
    tsw_buf_t bytes = TSW_BUF_INIT;
    queue_one(world, &bytes);
    send_one(world);
    snprintf(tmp, sizeof(tmp), "%s/parts/" NAME ".tmp.transfer", world->far);
    FILE *file = fopen(tmp, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, 1000, SEEK_SET), 0);
    assert_int_equal(fwrite("????????", 1, 8, file), 8);
    assert_int_equal(fclose(file), 0);
    send_one(world);
    assert_int_equal(send_one(world), 0); /* from the start */
    assert_false(is_there(world->far, NAME));
    while (!tsw_outbox_is_empty(world->outbox))
        send_one(world);
    assert_same(world, NAME, &bytes);
    tsw_buf_fini(&bytes);
}

static void test_transfer_when_it_was_interrupted_then_begun_anew(void **state)
{
    world_t *world = *state;
    char tmp[700];
    tsw_buf_t bytes = TSW_BUF_INIT;
    queue_one(world, &bytes);
    send_one(world);
    snprintf(tmp, sizeof(tmp), "%s/parts/" NAME ".tmp.transfer", world->far);
    assert_int_equal(truncate(tmp, 5000), 0);
    assert_int_equal(send_one(world), 0);
    assert_int_equal(unlink(tmp), 0);
    while (!tsw_outbox_is_empty(world->outbox))
        send_one(world);
    assert_same(world, NAME, &bytes);
    /* The last receipt was lost with the process: the file is there, so once is enough. */
    tsw_buf_t again = TSW_BUF_INIT;
    queue_one(world, &again);
    assert_int_equal(send_one(world), FILE_BYTES);
    assert_false(is_there(world->near, NAME));
    tsw_buf_fini(&again);
    tsw_buf_fini(&bytes);
}

static void test_transfer_when_it_never_arrives_then_an_error_and_the_file_stays(void **state)
{
    world_t *world = *state;
    tsw_piece_t piece;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = TSW_OK;
    int tries = 0;
    tsw_buf_t bytes = TSW_BUF_INIT;
    queue_one(world, &bytes);
    for (; status == TSW_OK && tries < 100; tries++) {
        assert_true(tsw_outbox_next(world->outbox, &piece));
        status = tsw_outbox_receipt(world->outbox, NAME, 0, &err);
    }
    assert_int_equal(status, TSW_ERR_IO);
    assert_true(tries < 10);
    assert_non_null(strstr(err.text, NAME));
    assert_true(is_there(world->near, NAME));
    tsw_buf_fini(&bytes);
}

static void test_receipts_when_for_nothing_then_refused(void **state)
{
    world_t *world = *state;
    tsw_piece_t piece;
    tsw_buf_t bytes = TSW_BUF_INIT;
    assert_int_equal(tsw_outbox_receipt(world->outbox, NAME, 0, NULL), TSW_ERR_CORRUPT);
    queue_one(world, &bytes);
    assert_int_equal(tsw_outbox_receipt(world->outbox, NAME, 0, NULL), TSW_ERR_CORRUPT);
    assert_true(tsw_outbox_next(world->outbox, &piece));
    assert_int_equal(tsw_outbox_receipt(world->outbox, "other", 0, NULL), TSW_ERR_CORRUPT);
    assert_int_equal(tsw_outbox_receipt(world->outbox, NAME, FILE_BYTES + 1, NULL),
                     TSW_ERR_CORRUPT);
    tsw_buf_fini(&bytes);
}

/* Of all attempts and ranks; what is torn, or no segment's name, stays where it is and holds up
 * nothing. */
static void test_leftovers_are_sent_but_for_torn_ones(void **state)
{
    world_t *world = *state;
    char torn[700];
    static const char *const names[] = {"a0001-r0003/000001.h5", "a0001-r0003/000002.h5",
                                        "a0002-r0000/000007.h5"};
    for (size_t i = 0; i < 3; i++)
        write_sealed(world->near, names[i], 2000 + i);
    snprintf(torn, sizeof(torn), "%s/parts/%s", world->near, names[1]);
    assert_int_equal(truncate(torn, 1500), 0);
    write_sealed(world->near, "a0001-r0003/copy of 1.h5", 2000);
    assert_int_equal(tsw_outbox_add_leftovers(world->outbox, NULL), TSW_OK);
    send_one(world);
    send_one(world);
    tsw_piece_t piece;
    assert_false(tsw_outbox_next(world->outbox, &piece));
    assert_true(tsw_outbox_is_empty(world->outbox));
    assert_true(is_there(world->far, names[0]) && is_there(world->far, names[2]));
    assert_true(is_there(world->near, names[1]) && !is_there(world->far, names[1]));
    assert_true(is_there(world->near, "a0001-r0003/copy of 1.h5"));
}

static void test_pieces_when_senseless_then_refused(void **state)
{
    world_t *world = *state;
    static const char *const names[] = {"",
                                        "a0001-r0003",
                                        "../000001.h5",
                                        "a0001-r0003/../../x.h5",
                                        "a1-r3/1.h5",
                                        "a0001-r0003/000001.h5.tmp",
                                        "/a0001-r0003/000001.h5",
                                        "a0001-r-003/000001.h5"};
    uint64_t next = 7;
    tsw_piece_t piece = {.size = 3, .bytes = "abc", .count = 3, .key = tsw_key_of("abc", 3)};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        piece.name = names[i];
        if (tsw_store_take_piece(world->far, &piece, &next, NULL) != TSW_ERR_CORRUPT)
            fail_msg("\"%s\" was taken", names[i]);
    }
    piece.name = NAME;
    piece.size = 2;
    assert_int_equal(tsw_store_take_piece(world->far, &piece, &next, NULL), TSW_ERR_CORRUPT);
    piece.size = 3;
    piece.count = 0;
    assert_int_equal(tsw_store_take_piece(world->far, &piece, &next, NULL), TSW_ERR_CORRUPT);
    assert_int_equal(next, 7);
    assert_false(tsw_path_exists(world->far));
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_transfer_when_the_disk_is_full_then_said_and_nothing_lost(void **state)
{
    world_t *world = *state;
    tsw_piece_t piece;
    uint64_t next = 0;
    tsw_buf_t bytes = TSW_BUF_INIT;
    queue_one(world, &bytes);
    send_one(world);
    assert_true(tsw_outbox_next(world->outbox, &piece));
    signal(SIGXFSZ, SIG_IGN);
    limit_file_size(TSW_PIECE_BYTES + 4096);
    tsw_status_t status = tsw_store_take_piece(world->far, &piece, &next, NULL);
    limit_file_size(RLIM_INFINITY);
    assert_int_equal(status, TSW_ERR_FULL);
    assert_false(is_there(world->far, NAME));
    assert_false(is_there(world->far, NAME ".tmp.transfer")); /* its room is free again */
    assert_true(is_there(world->near, NAME));
    tsw_buf_fini(&bytes);
}

int main(void)
{
#define IN_WORLD(_test) cmocka_unit_test_setup_teardown(_test, make_world, free_world)
    const struct CMUnitTest tests[] = {
        IN_WORLD(test_transfer_when_all_is_well_then_moved),
        IN_WORLD(test_transfer_when_a_piece_is_damaged_then_it_comes_again),
        IN_WORLD(test_transfer_when_a_file_is_damaged_then_it_comes_again),
        IN_WORLD(test_transfer_when_it_was_interrupted_then_begun_anew),
        IN_WORLD(test_transfer_when_it_never_arrives_then_an_error_and_the_file_stays),
        IN_WORLD(test_receipts_when_for_nothing_then_refused),
        IN_WORLD(test_leftovers_are_sent_but_for_torn_ones),
        IN_WORLD(test_pieces_when_senseless_then_refused),
        IN_WORLD(test_transfer_when_the_disk_is_full_then_said_and_nothing_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
