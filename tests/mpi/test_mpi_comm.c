#include "mpi_cmocka.h"

#include "base/mem.h"
#include "comm/comm_body.h"

#include <stdio.h>
#include <string.h>

#define SMALL_CHUNK 1000u /* so that frames of some KB travel in pieces */

static int rank_of_mine(void)
{
    return tsw_comm_rank(mpi_cmocka_comm());
}

static int size_of_all(void)
{
    return tsw_comm_size(mpi_cmocka_comm());
}

/* Bytes that are a function of (from, to, number), of different lengths. */
static tsw_buf_t make_frame(int from, int to, uint32_t number)
{
    static const size_t sizes[] = {12, 40, 999, 1000, 1001, 5000, 200000};
    size_t size = sizes[number % (sizeof(sizes) / sizeof(sizes[0]))];
    tsw_buf_t frame = TSW_BUF_INIT;
    uint32_t head[3] = {(uint32_t)from, (uint32_t)to, number};
    tsw_buf_append(&frame, head, sizeof(head));
    while (frame.size < size) {
        uint8_t byte = (uint8_t)(frame.size * 31 + number + (size_t)from);
        tsw_buf_append(&frame, &byte, 1);
    }
    return frame;
}

static bool is_frame(const tsw_buf_t *got, int from, int to, uint32_t number)
{
    tsw_buf_t wanted = make_frame(from, to, number);
    bool same = got->size == wanted.size && memcmp(got->data, wanted.data, got->size) == 0;
    tsw_buf_fini(&wanted);
    return same;
}

static bool send_frame(int to, uint32_t number)
{
    tsw_buf_t frame = make_frame(rank_of_mine(), to, number);
    tsw_err_t err = TSW_ERR_INIT;
    bool ok = tsw_comm_send(mpi_cmocka_comm(), to, &frame, &err) == TSW_OK;
    tsw_buf_fini(&frame);
    return ok;
}

/* Polls until `per_rank` frames of each of the ranks first.. have come, and all sends are out. */
static bool receive_frames(int first, int ranks, uint32_t per_rank)
{
    tsw_comm_t *comm = mpi_cmocka_comm();
    uint32_t *next = tsw_calloc((size_t)size_of_all(), sizeof(*next));
    uint32_t missing = per_rank * (uint32_t)ranks;
    bool ok = next != NULL;
    while (ok && (missing > 0 || tsw_comm_sends_pending(comm))) {
        tsw_buf_t frame = TSW_BUF_INIT;
        tsw_err_t err = TSW_ERR_INIT;
        tsw_status_t status = TSW_OK;
        int from = -1;
        if (tsw_comm_poll(comm, &from, &frame, &status, &err)) {
            ok = missing > 0 && from >= first && from < first + ranks &&
                 is_frame(&frame, from, rank_of_mine(), next[from]++);
            missing--;
        }
        ok = ok && status == TSW_OK;
        tsw_buf_fini(&frame);
    }
    tsw_free(next);
    return ok;
}

static void test_ranks_of_one_machine_know_their_places(void **state)
{
    (void)state;
    tsw_comm_t *comm = mpi_cmocka_comm();
    mpi_assert_all(tsw_comm_rank(comm) >= 0 && tsw_comm_rank(comm) < tsw_comm_size(comm));
    mpi_assert_all(tsw_comm_node_rank(comm) == tsw_comm_rank(comm));
}

static void test_bcast_gives_all_ranks_the_bytes_of_rank_0(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 999, 1000, 100000};
    tsw_err_t err = TSW_ERR_INIT;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        tsw_buf_t bytes = TSW_BUF_INIT;
        size_t mine = rank_of_mine() == 0 ? sizes[i] : 7;
        for (size_t k = 0; k < mine; k++) {
            uint8_t byte = (uint8_t)(rank_of_mine() == 0 ? k * 7 : 'x');
            tsw_buf_append(&bytes, &byte, 1);
        }
        tsw_status_t status = tsw_comm_bcast(mpi_cmocka_comm(), &bytes, &err);
        bool same = bytes.size == sizes[i];
        for (size_t k = 0; same && k < sizes[i]; k++)
            same = bytes.data[k] == (uint8_t)(k * 7);
        tsw_buf_fini(&bytes);
        mpi_assert_all(status == TSW_OK && same);
    }
}

static void test_bcast_without_memory_fails_on_all_ranks(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_buf_t bytes = TSW_BUF_INIT;
    tsw_buf_append_text(&bytes, "mine");
    bytes.failed = rank_of_mine() == 0;
    tsw_status_t status = tsw_comm_bcast(mpi_cmocka_comm(), &bytes, &err);
    bool untouched = strcmp(tsw_buf_text(&bytes), "mine") == 0;
    tsw_buf_fini(&bytes);
    mpi_assert_all(status == TSW_ERR_NOMEM && untouched);
    tsw_buf_append_text(&bytes, "mine");
    int last = size_of_all() - 1;
    if (last > 0) {
        tsw_mem_fail_at(rank_of_mine() == last ? 1 : 0);
        status = tsw_comm_bcast(mpi_cmocka_comm(), &bytes, &err);
        tsw_mem_fail_at(0);
    }
    tsw_buf_fini(&bytes);
    mpi_assert_all(status == TSW_ERR_NOMEM);
}

static void test_gather_brings_everything_to_rank_0(void **state)
{
    (void)state;
    enum { ROUNDS = 7 };
    tsw_err_t err = TSW_ERR_INIT;
    size_t size = (size_t)size_of_all();
    for (uint32_t round = 0; round < ROUNDS; round++) {
        tsw_buf_t mine = make_frame(rank_of_mine(), 0, round + (uint32_t)rank_of_mine());
        tsw_buf_t *all = rank_of_mine() == 0 ? tsw_calloc(size, sizeof(*all)) : NULL;
        tsw_status_t status = tsw_comm_gather(mpi_cmocka_comm(), &mine, all, &err);
        bool same = status == TSW_OK;
        for (size_t r = 0; all != NULL && r < size; r++) {
            same = same && is_frame(&all[r], (int)r, 0, round + (uint32_t)r);
            tsw_buf_fini(&all[r]);
        }
        tsw_free(all);
        tsw_buf_fini(&mine);
        mpi_assert_all(same);
    }
}

static void test_gather_brings_all_numbers_to_rank_0(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    uint64_t rank = (uint64_t)rank_of_mine();
    const uint64_t mine[] = {rank, UINT64_MAX - rank};
    uint64_t *all = NULL;
    tsw_status_t status = tsw_comm_gather_numbers(mpi_cmocka_comm(), mine, 2, &all, &err);
    bool same = status == TSW_OK;
    for (uint64_t r = 0; rank == 0 && same && r < (uint64_t)size_of_all(); r++)
        same = all[2 * r] == r && all[2 * r + 1] == UINT64_MAX - r;
    tsw_free(all);
    mpi_assert_all(same);
}

static void test_gather_without_memory_fails_on_all_ranks(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    const uint64_t mine = 1;
    for (int one = 0; one < size_of_all(); one++) {
        uint64_t *all = NULL;
        tsw_mem_fail_at(rank_of_mine() == one ? 2 : 0);
        tsw_status_t status = tsw_comm_gather_numbers(mpi_cmocka_comm(), &mine, 1, &all, &err);
        tsw_mem_fail_at(0);
        mpi_assert_all(status == TSW_ERR_NOMEM && all == NULL);
    }
}

static void test_agree_tells_all_ranks_of_the_first_that_failed(void **state)
{
    (void)state;
    tsw_comm_t *comm = mpi_cmocka_comm();
    int last = size_of_all() - 1;
    for (int first = last; first >= 0; first--) {
        tsw_err_t err = TSW_ERR_INIT;
        tsw_status_t mine = TSW_OK;
        if (rank_of_mine() >= first)
            mine = rank_of_mine() == first
                       ? tsw_err_set_vendor(&err, TSW_ERR_FULL, 28, "no room at %d", first)
                       : tsw_err_set(&err, TSW_ERR_IO, "another");
        char text[64];
        snprintf(text, sizeof(text), "no room at %d", first);
        tsw_status_t status = tsw_comm_agree(comm, mine, &err);
        mpi_assert_all(status == TSW_ERR_FULL);
        mpi_assert_all(err.code == TSW_ERR_FULL && err.vendor == 28);
        mpi_assert_all(strstr(err.text, text) != NULL);
    }
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = tsw_comm_agree(comm, TSW_OK, &err);
    mpi_assert_all(status == TSW_OK && err.code == TSW_OK);
    status = tsw_comm_agree(comm, TSW_ERR_ENV, NULL);
    mpi_assert_all(status == TSW_ERR_ENV);
}

static void test_frames_between_all_ranks_arrive_whole_and_in_order(void **state)
{
    (void)state;
    enum { COUNT = 30 };
    bool ok = true;
    for (uint32_t i = 0; i < COUNT; i++)
        for (int to = 0; to < size_of_all(); to++)
            ok = send_frame(to, i) && ok;
    ok = receive_frames(0, size_of_all(), COUNT) && ok;
    mpi_assert_all(ok);
}

static void test_a_flood_to_rank_0_loses_nothing(void **state)
{
    (void)state;
    enum { COUNT = 400 };
    bool ok = true;
    for (uint32_t i = 0; i < COUNT && rank_of_mine() != 0; i++)
        ok = send_frame(0, i) && ok;
    int others = rank_of_mine() == 0 ? size_of_all() - 1 : 0;
    ok = receive_frames(1, others, COUNT) && ok;
    mpi_assert_all(ok);
}

static void test_frames_under_way_do_not_disturb_collectives(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    bool ok = send_frame(0, 0);
    tsw_buf_t bytes = TSW_BUF_INIT;
    tsw_buf_append_text(&bytes, rank_of_mine() == 0 ? "zero" : "other");
    ok = tsw_comm_bcast(mpi_cmocka_comm(), &bytes, &err) == TSW_OK && ok;
    ok = strcmp(tsw_buf_text(&bytes), "zero") == 0 && ok;
    tsw_buf_fini(&bytes);
    ok = receive_frames(0, rank_of_mine() == 0 ? size_of_all() : 0, 1) && ok;
    mpi_assert_all(ok);
}

static void test_send_refuses_ranks_that_are_not_there(void **state)
{
    (void)state;
    tsw_err_t err = TSW_ERR_INIT;
    tsw_buf_t frame = make_frame(0, 0, 0);
    bool refused = tsw_comm_send(mpi_cmocka_comm(), size_of_all(), &frame, &err) == TSW_ERR_BUG &&
                   frame.size > 0;
    tsw_buf_fini(&frame);
    mpi_assert_all(refused);
}

static void test_pieces_from_here_on(void **state)
{
    (void)state;
    mpi_cmocka_comm()->chunk_bytes = SMALL_CHUNK;
}

/* The last one: tsw_comm_close must cope with frames that nobody polled. */
static void test_frames_left_under_way_do_not_hinder_the_end(void **state)
{
    (void)state;
    bool ok = true;
    for (uint32_t i = 0; i < 8; i++)
        for (int to = 0; to < size_of_all(); to++)
            ok = send_frame(to, i) && ok;
    mpi_assert_all(ok);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_of_one_machine_know_their_places),
        cmocka_unit_test(test_bcast_gives_all_ranks_the_bytes_of_rank_0),
        cmocka_unit_test(test_bcast_without_memory_fails_on_all_ranks),
        cmocka_unit_test(test_gather_brings_everything_to_rank_0),
        cmocka_unit_test(test_gather_brings_all_numbers_to_rank_0),
        cmocka_unit_test(test_gather_without_memory_fails_on_all_ranks),
        cmocka_unit_test(test_agree_tells_all_ranks_of_the_first_that_failed),
        cmocka_unit_test(test_frames_between_all_ranks_arrive_whole_and_in_order),
        cmocka_unit_test(test_a_flood_to_rank_0_loses_nothing),
        cmocka_unit_test(test_frames_under_way_do_not_disturb_collectives),
        cmocka_unit_test(test_send_refuses_ranks_that_are_not_there),
        cmocka_unit_test(test_pieces_from_here_on),
        cmocka_unit_test(test_bcast_gives_all_ranks_the_bytes_of_rank_0),
        cmocka_unit_test(test_gather_brings_everything_to_rank_0),
        cmocka_unit_test(test_frames_between_all_ranks_arrive_whole_and_in_order),
        cmocka_unit_test(test_a_flood_to_rank_0_loses_nothing),
        cmocka_unit_test(test_frames_left_under_way_do_not_hinder_the_end),
    };
    return mpi_cmocka_run(tests);
}
