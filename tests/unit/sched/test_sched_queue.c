#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "sched/sched_queue.h"

#define SEED 7u

static void test_ring_wraps_and_keeps_order(void **state)
{
    (void)state;
    tsw_sched_ring_t ring;
    assert_true(tsw_sched_ring_init(&ring, 3));
    uint32_t in = 0;
    uint32_t out = 0;
    for (int i = 0; i < 10; i++) {
        while (ring.count < 3)
            tsw_sched_ring_push(&ring, in++);
        assert_int_equal(tsw_sched_ring_first(&ring), out);
        assert_int_equal(tsw_sched_ring_pop(&ring), out++);
        assert_int_equal(tsw_sched_ring_pop(&ring), out++);
    }
    tsw_sched_ring_fini(&ring);
}

static void test_heap_gives_the_smallest_first(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    uint32_t order[COUNT];
    tsw_rng_permutation(SEED, 0, 0, order, COUNT);
    tsw_sched_heap_t heap;
    assert_true(tsw_sched_heap_init(&heap, COUNT));
    for (size_t i = 0; i < COUNT; i++)
        tsw_sched_heap_push(&heap, order[i]);
    for (uint32_t i = 0; i < COUNT / 2; i++)
        assert_int_equal(tsw_sched_heap_pop(&heap), i);
    tsw_sched_heap_push(&heap, 3);
    assert_int_equal(tsw_sched_heap_pop(&heap), 3);
    for (uint32_t i = COUNT / 2; i < COUNT; i++)
        assert_int_equal(tsw_sched_heap_pop(&heap), i);
    tsw_sched_heap_fini(&heap);
}

static void test_init_without_memory_says_so(void **state)
{
    (void)state;
    tsw_sched_ring_t ring;
    tsw_sched_heap_t heap;
    tsw_mem_fail_at(1);
    assert_false(tsw_sched_ring_init(&ring, 3));
    tsw_mem_fail_at(1);
    assert_false(tsw_sched_heap_init(&heap, 3));
    tsw_sched_ring_fini(&ring);
    tsw_sched_heap_fini(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring_wraps_and_keeps_order),
        cmocka_unit_test(test_heap_gives_the_smallest_first),
        cmocka_unit_test(test_init_without_memory_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
