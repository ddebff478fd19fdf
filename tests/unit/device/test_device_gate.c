/* When the gate before a wave may open: the device must never catch up with the host. */
#include "device/gate.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT 40

static void set(tsw_shot_t *shots, size_t count, uint32_t repeat, uint64_t expected_ns)
{
    for (size_t i = 0; i < count; i++)
        shots[i] = (tsw_shot_t){.set_count = 1, .repeat = repeat, .expected_ns = expected_ns};
}

/* The least that the device has before it whenever the host begins a shot, less what the host takes
 * for it, when the gate opens after so many. */
static double least_backlog_ns(const tsw_shot_t *shots, size_t count, size_t opens_after,
                               double command_ns)
{
    double ahead_ns = 0.0, least_ns = 1e18;
    for (size_t i = 0; i < count; i++) {
        if (i >= opens_after) {
            ahead_ns -= command_ns * (double)tsw_gate_commands(&shots[i]);
            least_ns = ahead_ns < least_ns ? ahead_ns : least_ns;
        }
        ahead_ns += shots[i].expected_ns > 0 ? 3000.0 + (double)shots[i].expected_ns : 0.0;
    }
    return least_ns;
}

static void long_shots_open_it_at_once(void **unused)
{
    (void)unused;
    tsw_shot_t shots[COUNT];
    set(shots, COUNT, 1, 1000000);
    assert_int_equal(tsw_gate_opens_after(shots, COUNT, 3000.0), 1);
}

static void what_is_not_known_keeps_it_closed(void **unused)
{
    (void)unused;
    tsw_shot_t shots[COUNT];
    set(shots, COUNT, 1, 1000000);
    assert_int_equal(tsw_gate_opens_after(shots, COUNT, 0.0), COUNT);
    set(shots, COUNT, 1, 0);
    assert_int_equal(tsw_gate_opens_after(shots, COUNT, 3000.0), COUNT);
    assert_int_equal(tsw_gate_opens_after(shots, 1, 3000.0), 1);
}

static void a_device_faster_than_the_host_waits_for_most(void **unused)
{
    (void)unused;
    tsw_shot_t shots[COUNT];
    set(shots, COUNT, 10, 30000); /* 10 launches of 3 us; the host needs 45 us */
    size_t opens = tsw_gate_opens_after(shots, COUNT, 3000.0);
    assert_true(opens > COUNT / 2);
    assert_true(opens < COUNT);
    assert_true(least_backlog_ns(shots, COUNT, opens, 1.5 * 3000.0) >= 0.0);
}

/* However the shots are mixed: a host slower by half stays ahead, and no earlier opening would do.
 */
static void the_host_stays_ahead(void **unused)
{
    (void)unused;
    for (uint64_t i = 0; i < 500; i++) {
        tsw_shot_t shots[COUNT];
        for (size_t at = 0; at < COUNT; at++)
            shots[at] = (tsw_shot_t){
                .set_count = 1,
                .repeat = 1 + (uint32_t)(tsw_rng_u64(7, i, at, 0, 0) % 20),
                .expected_ns = 2000 + tsw_rng_u64(7, i, at, 1, 0) % 200000,
            };
        double command_ns = 500.0 + (double)(tsw_rng_u64(7, i, 0, 2, 0) % 8000);
        size_t opens = tsw_gate_opens_after(shots, COUNT, command_ns);
        assert_in_range(opens, 1, COUNT);
        if (opens < COUNT)
            assert_true(least_backlog_ns(shots, COUNT, opens, 1.5 * command_ns) >= 0.0);
        if (opens > 1)
            assert_true(least_backlog_ns(shots, COUNT, opens - 1, 1.5 * command_ns) < 60000.0);
    }
}

static void two_graphs_at_most_wait_behind_it(void **unused)
{
    (void)unused;
    tsw_shot_t shots[COUNT];
    tsw_graph_t *const graph = (tsw_graph_t *)shots; /* any will do */
    set(shots, COUNT, 30, 0);
    shots[4].graph = shots[5].graph = shots[9].graph = graph;
    assert_int_equal(tsw_gate_opens_after(shots, COUNT, 0.0), 6);
    assert_int_equal(tsw_gate_opens_after(shots, COUNT, 3000.0), 6);
    assert_int_equal(tsw_gate_opens_after(shots, 5, 3000.0), 5);
    set(shots, COUNT, 30, 1000000);
    shots[4].graph = graph;
    assert_int_equal(tsw_gate_opens_after(shots, COUNT, 3000.0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_shots_open_it_at_once),
        cmocka_unit_test(what_is_not_known_keeps_it_closed),
        cmocka_unit_test(a_device_faster_than_the_host_waits_for_most),
        cmocka_unit_test(the_host_stays_ahead),
        cmocka_unit_test(two_graphs_at_most_wait_behind_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
