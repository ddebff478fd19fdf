/* What the ranks tell each other before work, and whether they fit together. Every rank has all
 * hellos and comes to the same result. */
#include "base/log.h"
#include "base/mem.h"
#include "run/run_state.h"

#include <stdio.h>
#include <string.h>

static void fill_hello(const tsw_run_t *run, tsw_msg_hello_t *hello)
{
    memcpy(hello->node, run->node, sizeof(hello->node));
    tsw_cpus_of_process(&hello->cpus);
    hello->toolchain_found = run->toolchain.found;
    hello->toolchain_key = run->toolchain.key;
    snprintf(hello->toolchain, sizeof(hello->toolchain), "%s",
             run->toolchain.text != NULL ? run->toolchain.text : "");
    hello->plan_key = run->plan->key;
    hello->has_gpu = run->has_device;
    hello->gpu = run->gpu;
}

tsw_status_t tsw_run_exchange_hellos(tsw_run_t *run, tsw_err_t *err)
{
    tsw_buf_t mine = TSW_BUF_INIT;
    tsw_buf_t all = TSW_BUF_INIT;
    size_t size = (size_t)run->size;
    tsw_msg_hello_t hello = {.has_gpu = false};
    fill_hello(run, &hello);
    tsw_put_msg_hello(&mine, &hello);
    tsw_buf_t *gathered = tsw_calloc(size, sizeof(*gathered));
    run->hellos = tsw_calloc(size, sizeof(*run->hellos));
    if (gathered == NULL || run->hellos == NULL || !tsw_buf_ok(&mine))
        tsw_comm_abort(run->comm, 70); /* the others wait in the gather */
    tsw_status_t status = tsw_comm_gather(run->comm, &mine, gathered, err);
    for (size_t i = 0; i < size; i++) {
        tsw_put_bytes(&all, gathered[i].data, gathered[i].size);
        tsw_buf_fini(&gathered[i]);
    }
    if (status == TSW_OK)
        status = tsw_comm_bcast(run->comm, &all, err);
    tsw_reader_t in = tsw_reader(all.data, all.size);
    for (size_t i = 0; status == TSW_OK && i < size; i++) {
        size_t length = 0;
        const void *bytes = tsw_get_bytes(&in, &length);
        status = tsw_get_msg_hello(bytes, length, &run->hellos[i], err);
    }
    tsw_free(gathered);
    tsw_buf_fini(&mine);
    tsw_buf_fini(&all);
    return status;
}

/* ---- derived ---- */

int tsw_run_arch_index(const tsw_run_t *run, const tsw_msg_hello_t *hello)
{
    for (size_t i = 0; hello->has_gpu && i < run->job->arch_count; i++) {
        if (run->job->archs[i] == hello->gpu.arch && !run->job->compile_only[i])
            return (int)i;
    }
    return -1;
}

uint32_t tsw_run_node_of(const tsw_run_t *run, int rank)
{
    uint32_t node = 0;
    while (strcmp(run->hellos[node].node, run->hellos[rank].node) != 0)
        node++;
    return node; /* the first rank there */
}

static bool owns_a_core(const tsw_msg_hello_t *hello)
{
    return hello->has_gpu && strcmp(hello->gpu.mode, "cuda") == 0;
}

typedef struct {
    uint32_t ranks, place; /* of the rank among them */
    uint32_t cores, workers;
} node_t;

static node_t look_at_node(const tsw_run_t *run, int rank)
{
    tsw_cpus_t cpus = {0};
    node_t node = {.ranks = 0};
    const uint32_t number = tsw_run_node_of(run, rank);
    for (int i = 0; i < run->size; i++) {
        if (tsw_run_node_of(run, i) != number)
            continue;
        tsw_cpus_merge(&cpus, &run->hellos[i].cpus);
        node.workers += owns_a_core(&run->hellos[i]);
        node.place += i < rank;
        node.ranks++;
    }
    node.cores = (uint32_t)tsw_cpus_count(&cpus);
    return node;
}

/* The cores of a node that no cuda worker needs, dealt over its ranks. */
uint32_t tsw_run_slots_of(const tsw_run_t *run, int rank)
{
    const node_t node = look_at_node(run, rank);
    uint32_t budget = node.cores > node.workers ? node.cores - node.workers : 1;
    if (run->options->build_jobs > 0)
        budget = run->options->build_jobs;
    return budget / node.ranks + (node.place < budget % node.ranks);
}

bool tsw_run_lends_core(const tsw_run_t *run, int rank)
{
    const node_t node = look_at_node(run, rank);
    return run->options->build_jobs == 0 && owns_a_core(&run->hellos[rank]) &&
           node.cores > node.workers;
}

/* ---- checks ---- */

static tsw_status_t check_same(const tsw_run_t *run, tsw_err_t *err)
{
    const tsw_msg_hello_t *first = &run->hellos[0];
    for (int i = 1; i < run->size; i++) {
        const tsw_msg_hello_t *other = &run->hellos[i];
        if (!tsw_key_equal(first->plan_key, other->plan_key))
            return tsw_err_set(err, TSW_ERR_BUG, "ranks 0 and %d made different plans", i);
        if (first->toolchain_found != other->toolchain_found ||
            !tsw_key_equal(first->toolchain_key, other->toolchain_key))
            return tsw_err_set(err, TSW_ERR_ENV,
                               "the toolchains differ: %s on %s (rank 0), %s on %s (rank %d)",
                               first->toolchain, first->node, other->toolchain, other->node, i);
    }
    return TSW_OK;
}

static tsw_status_t check_shared(const tsw_run_t *run, tsw_err_t *err)
{
    /* Who ends first would give the lock of the clock back that the other needs. */
    const bool is_locked = run->options->locked_mhz > 0;
    for (int i = 0; i < run->size && (is_locked || !run->options->allow_shared_gpu); i++) {
        for (int k = 0; k < i; k++) {
            const tsw_msg_hello_t *a = &run->hellos[i];
            const tsw_msg_hello_t *b = &run->hellos[k];
            if (!owns_a_core(a) || !owns_a_core(b) || strcmp(a->gpu.uuid, b->gpu.uuid) != 0)
                continue;
            return tsw_err_set(err, TSW_ERR_ENV,
                               "ranks %d and %d on %s have the same GPU (%s): start one rank per "
                               "GPU%s",
                               k, i, a->node, a->gpu.uuid,
                               is_locked ? ": its clock cannot be locked for both"
                                         : ", or allow sharing");
        }
    }
    return TSW_OK;
}

static void list_devices(const tsw_run_t *run, tsw_buf_t *out)
{
    for (int i = 0; i < run->size && i < 16; i++) {
        const tsw_gpu_t *gpu = &run->hellos[i].gpu;
        if (run->hellos[i].has_gpu)
            tsw_buf_printf(out, "%s rank %d: sm_%u (%s)", i > 0 ? "," : "", i, gpu->arch,
                           gpu->name);
        else
            tsw_buf_printf(out, "%s rank %d: none", i > 0 ? "," : "", i);
    }
    if (run->size > 16)
        tsw_buf_append_text(out, ", ..");
}

static tsw_status_t check_archs(const tsw_run_t *run, tsw_err_t *err)
{
    for (size_t a = 0; a < run->job->arch_count; a++) {
        bool there = run->job->compile_only[a];
        for (int i = 0; i < run->size; i++)
            there = there || tsw_run_arch_index(run, &run->hellos[i]) == (int)a;
        if (there)
            continue;
        tsw_buf_t devices = TSW_BUF_INIT;
        list_devices(run, &devices);
        tsw_err_set(err, TSW_ERR_ENV,
                    "no rank has a device for sm_%u, which the job measures; devices:%s",
                    run->job->archs[a], tsw_buf_text(&devices));
        tsw_buf_fini(&devices);
        return TSW_ERR_ENV;
    }
    return TSW_OK;
}

tsw_status_t tsw_run_check_hellos(tsw_run_t *run, tsw_err_t *err)
{
    const tsw_msg_hello_t *mine = &run->hellos[run->rank];
    tsw_status_t status = check_same(run, err);
    if (status == TSW_OK)
        status = check_shared(run, err);
    if (status == TSW_OK)
        status = check_archs(run, err);
    if (status != TSW_OK)
        return status;
    run->arch_index = tsw_run_arch_index(run, mine);
    run->builds.slots = tsw_run_slots_of(run, run->rank);
    run->builds.lends_core = tsw_run_lends_core(run, run->rank);
    if (tsw_cpus_count(&mine->cpus) == 1 && tsw_cpus_online() > 1)
        tsw_log_root(TSW_LOG_WARN,
                     "this rank is bound to one core of %d: builds will be slow "
                     "(mpirun --bind-to none, srun --cpus-per-task)",
                     tsw_cpus_online());
    if (mine->has_gpu && run->arch_index < 0) {
        tsw_log(TSW_LOG_WARN, "the job does not measure sm_%u: this rank only builds",
                mine->gpu.arch);
        run->has_device = false;
    }
    return TSW_OK;
}
