#include "pack/job.h"

#include "base/mem.h"
#include "pack/job_read.h"

#include <string.h>

void tsw_job_free(tsw_job_t *job)
{
    if (job == NULL)
        return;
    for (size_t i = 0; i < job->entry_count; i++)
        tsw_job_entry_fini(&job->entries[i]);
    for (size_t i = 0; i < job->pack_count; i++)
        tsw_pack_free(job->packs[i]);
    tsw_free(job->entries);
    tsw_free(job->packs);
    tsw_free(job->archs);
    tsw_free(job->compile_only);
    tsw_free(job->name);
    for (size_t i = 0; i < job->search.seed_count; i++)
        tsw_free(job->search.seed_from[i]);
    tsw_free(job->search.seed_from);
    tsw_fileset_fini(&job->snapshot);
    tsw_free(job);
}

char *tsw_job_data_name(const tsw_pack_t *pack, const tsw_fill_t *fill)
{
    tsw_buf_t name = TSW_BUF_INIT;
    tsw_buf_printf(&name, "data/%s/%s:%s", pack->name, fill->file, fill->dataset);
    return tsw_buf_take_text(&name);
}

const char *tsw_purpose_name(tsw_purpose_t purpose)
{
    static const char *const names[] = {"release", "probe", "research", "fixed"};
    return (unsigned)purpose < 4 ? names[purpose] : "unknown";
}

tsw_status_t tsw_job_read(tsw_fileset_t *snapshot, tsw_job_t **job_p, tsw_err_t *err)
{
    tsw_job_t *job = NULL;
    tsw_status_t status = tsw_job_parse(snapshot, TSW_JOB_FILE, &job, err);
    if (status != TSW_OK)
        return status;
    job->snapshot = *snapshot;
    *snapshot = (tsw_fileset_t)TSW_FILESET_INIT;
    *job_p = job;
    return TSW_OK;
}

static tsw_status_t fill_archs(tsw_job_t *job, tsw_view_t view, tsw_err_t *err)
{
    const tsw_node_t *archs = tsw_view_node(view, "archs");
    job->archs = tsw_calloc(archs->count, sizeof(*job->archs));
    job->compile_only = tsw_calloc(archs->count, sizeof(*job->compile_only));
    if (job->archs == NULL || job->compile_only == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < archs->count; i++) {
        bool known = tsw_arch_parse(archs->items[i]->text, &job->archs[i]);
        TSW_ASSERT(known);
        for (size_t j = 0; j < i; j++) {
            if (job->archs[i] == job->archs[j])
                return tsw_place_err(err, TSW_ERR_INPUT, archs->items[i]->place,
                                     "%s is there twice", archs->items[i]->text);
        }
        job->arch_count++;
    }
    return TSW_OK;
}

static tsw_status_t fill_compile_only(tsw_job_t *job, tsw_view_t view, tsw_err_t *err)
{
    const tsw_node_t *node = tsw_view_node(view, "compile_only");
    bool all = false;
    if (node == NULL)
        return TSW_OK;
    if (tsw_node_bool(node, &all)) {
        for (size_t i = 0; i < job->arch_count; i++)
            job->compile_only[i] = all;
        return TSW_OK;
    }
    for (size_t i = 0; i < node->count; i++) {
        tsw_arch_t arch = 0;
        bool found = false;
        bool known = tsw_arch_parse(node->items[i]->text, &arch);
        TSW_ASSERT(known);
        for (size_t j = 0; j < job->arch_count; j++) {
            found = found || job->archs[j] == arch;
            job->compile_only[j] = job->compile_only[j] || job->archs[j] == arch;
        }
        if (!found)
            return tsw_place_err(err, TSW_ERR_INPUT, node->items[i]->place,
                                 "%s is not among 'archs'", node->items[i]->text);
    }
    return TSW_OK;
}

static tsw_status_t check_above_zero(tsw_view_t view, const char *key, tsw_err_t *err)
{
    if (tsw_view_seconds(view, key) > 0.0)
        return TSW_OK;
    return tsw_place_err(err, TSW_ERR_INPUT, tsw_view_place(view, key),
                         "'%s' must be above 0: without a limit a hang would never end", key);
}

/* ---- the policy ---- */

static const uint32_t race_rounds = 96;

/* The file of a snapshot that holds nothing but the name of a protocol. */
static const char override_file[] = "override/protocol";
/* The file whose presence switches tuning off. */
static const char fixed_file[] = "override/fixed";

static bool parse_protocol(const char *name, tsw_protocol_t *protocol_p)
{
    for (size_t i = 0; tsw_protocol_names[i] != NULL; i++) {
        if (strcmp(tsw_protocol_names[i], name) == 0) {
            *protocol_p = (tsw_protocol_t)i;
            return true;
        }
    }
    return false;
}

const char *tsw_protocol_name(tsw_protocol_t protocol)
{
    return tsw_protocol_names[protocol];
}

const char *tsw_objective_name(tsw_objective_t objective)
{
    static const char *const names[] = {"median", "p90", "p99", "mean", "energy"};
    return names[objective];
}

tsw_status_t tsw_job_override_protocol(tsw_fileset_t *snapshot, const char *protocol,
                                       tsw_err_t *err)
{
    tsw_protocol_t known;
    size_t count = 0;
    char hint[96];
    if (parse_protocol(protocol, &known))
        return tsw_fileset_add(snapshot, override_file, protocol, strlen(protocol), err);
    while (tsw_protocol_names[count] != NULL)
        count++;
    tsw_name_hint(protocol, tsw_protocol_names, count, hint);
    return tsw_err_set(err, TSW_ERR_ARG, "there is no protocol '%.60s'%s", protocol, hint);
}

static void override_protocol(tsw_policy_t *policy, const tsw_fileset_t *snapshot)
{
    const tsw_fileset_item_t *item = tsw_fileset_find(snapshot, override_file);
    if (item != NULL)
        parse_protocol((const char *)item->bytes, &policy->protocol);
}

tsw_status_t tsw_job_override_fixed(tsw_fileset_t *snapshot, tsw_err_t *err)
{
    return tsw_fileset_add(snapshot, fixed_file, "", 0, err);
}

static tsw_status_t fill_policy(tsw_job_t *job, tsw_view_t view, const tsw_fileset_t *snapshot,
                                tsw_err_t *err)
{
    tsw_view_t measure = tsw_view_map(view, "measure");
    tsw_view_t limits = tsw_view_map(view, "limits");
    job->policy = (tsw_policy_t){
        .protocol = (tsw_protocol_t)tsw_view_word(measure, "protocol"),
        .objective = (tsw_objective_t)tsw_view_word(measure, "objective"),
        .warmup_rounds = (uint32_t)tsw_view_i64(measure, "warmup"),
        .rounds = (uint32_t)tsw_view_i64(measure, "rounds"),
        .cache = (tsw_cache_mode_t)tsw_view_word(measure, "cache"),
        .launch_timeout_s = tsw_view_seconds(limits, "launch"),
        .cell_budget_s = tsw_view_seconds(limits, "cell"),
        .seed = (uint64_t)tsw_view_i64(measure, "seed"),
    };
    override_protocol(&job->policy, snapshot);
    if (job->policy.protocol == TSW_PROTOCOL_RACE && !tsw_view_has(measure, "rounds"))
        job->policy.rounds = race_rounds;
    job->compile_cpu_s = tsw_view_seconds(limits, "compile_cpu");
    job->budget_s = tsw_view_seconds(limits, "run");
    tsw_status_t status = check_above_zero(limits, "launch", err);
    return status == TSW_OK ? check_above_zero(limits, "compile_cpu", err) : status;
}

/* ---- search ---- */

bool tsw_job_searches(const tsw_job_t *job, size_t config_count)
{
    return job->purpose == TSW_PURPOSE_RESEARCH &&
           config_count > (job->search.given ? job->search.builds : TSW_SEARCH_SWEPT);
}

static tsw_status_t fill_seeds(tsw_search_t *search, const tsw_node_t *list, tsw_err_t *err)
{
    size_t count = list != NULL ? list->count : 0;
    search->seed_from = tsw_calloc(count + 1, sizeof(*search->seed_from));
    if (search->seed_from == NULL)
        return tsw_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        search->seed_from[i] = tsw_strdup(list->items[i]->text);
        if (search->seed_from[i] == NULL)
            return tsw_err_nomem(err);
        search->seed_count++;
    }
    return TSW_OK;
}

static tsw_status_t fill_search(tsw_job_t *job, tsw_view_t view, tsw_err_t *err)
{
    tsw_search_t *search = &job->search;
    *search = (tsw_search_t){.builds = TSW_SEARCH_BUILDS,
                             .per_generation = TSW_SEARCH_PER_GENERATION,
                             .given = tsw_view_has(view, "search")};
    if (!search->given)
        return TSW_OK;
    tsw_view_t map = tsw_view_map(view, "search");
    if (job->purpose != TSW_PURPOSE_RESEARCH)
        return tsw_place_err(err, TSW_ERR_INPUT, tsw_view_place(view, "search"),
                             "'search' is for purpose research, this is %s",
                             tsw_purpose_name(job->purpose));
    search->builds = (uint32_t)tsw_view_i64(map, "builds");
    search->per_generation = (uint32_t)tsw_view_i64(map, "per_generation");
    return fill_seeds(search, tsw_view_node(map, "seed_from"), err);
}

tsw_status_t tsw_job_pack_name(const tsw_node_t *ref, char **name_p, tsw_err_t *err)
{
    const char *end = ref->text + strlen(ref->text);
    while (end > ref->text && end[-1] == '/')
        end--;
    const char *start = end;
    while (start > ref->text && start[-1] != '/')
        start--;
    size_t size = (size_t)(end - start);
    bool is_dots = size <= 2 && strspn(start, ".") >= size;
    if (is_dots)
        return tsw_place_err(err, TSW_ERR_INPUT, ref->place,
                             "'%.200s' must end with the name of a pack folder", ref->text);
    char *name = tsw_malloc(size + 1);
    if (name == NULL)
        return tsw_err_nomem(err);
    memcpy(name, start, size);
    name[size] = '\0';
    *name_p = name;
    return TSW_OK;
}

/* Read a pack from the snapshot; its own name must be new. */
static tsw_status_t add_pack(tsw_job_t *job, const tsw_fileset_t *snapshot, const char *name,
                             tsw_place_t place, tsw_err_t *err)
{
    tsw_fileset_t files = TSW_FILESET_INIT;
    tsw_pack_t *pack = NULL;
    tsw_buf_t prefix = TSW_BUF_INIT;
    tsw_buf_printf(&prefix, "packs/%s/", name);
    tsw_status_t status = tsw_buf_ok(&prefix) ? TSW_OK : tsw_err_nomem(err);
    if (status == TSW_OK)
        status = tsw_fileset_subset(snapshot, tsw_buf_text(&prefix), &files, err);
    if (status == TSW_OK && files.count == 0)
        status = tsw_place_err(err, TSW_ERR_NOT_FOUND, place, "the snapshot lacks pack '%s'", name);
    if (status == TSW_OK) {
        status = tsw_pack_read(&files, &pack, err);
        if (status != TSW_OK)
            tsw_err_wrap(err, "pack %s", name);
    }
    for (size_t i = 0; status == TSW_OK && i < job->pack_count; i++) {
        if (strcmp(job->packs[i]->name, pack->name) == 0)
            status = tsw_place_err(err, TSW_ERR_INPUT, place,
                                   "another folder of the job holds a pack '%s' too", pack->name);
    }
    if (status == TSW_OK)
        job->packs[job->pack_count++] = pack;
    else
        tsw_pack_free(pack);
    tsw_buf_fini(&prefix);
    tsw_fileset_fini(&files);
    return status;
}

static tsw_status_t find_pack(tsw_job_t *job, const tsw_fileset_t *snapshot, size_t index,
                              tsw_err_t *err)
{
    tsw_job_entry_t *entry = &job->entries[index];
    for (size_t i = 0; i < index; i++) {
        if (strcmp(job->entries[i].pack_name, entry->pack_name) == 0) {
            entry->pack = job->entries[i].pack;
            return TSW_OK;
        }
    }
    tsw_status_t status = add_pack(job, snapshot, entry->pack_name, entry->place, err);
    if (status == TSW_OK)
        entry->pack = job->packs[job->pack_count - 1];
    return status;
}

static tsw_status_t fill_entries(tsw_job_t *job, tsw_view_t view, const tsw_fileset_t *snapshot,
                                 tsw_err_t *err)
{
    size_t count = tsw_view_count(view, "packs");
    job->entries = tsw_calloc(count, sizeof(*job->entries));
    job->packs = tsw_calloc(count, sizeof(tsw_pack_t *));
    if (job->entries == NULL || job->packs == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = TSW_OK;
    for (size_t i = 0; status == TSW_OK && i < count; i++) {
        tsw_view_t item = tsw_view_item(view, "packs", i);
        tsw_job_entry_t *entry = &job->entries[job->entry_count++];
        entry->place = item.node->place;
        status = tsw_view_copy(item, "pack", &entry->pack_ref, err);
        if (status == TSW_OK)
            status = tsw_job_pack_name(tsw_view_node(item, "pack"), &entry->pack_name, err);
        if (status == TSW_OK)
            status = find_pack(job, snapshot, i, err);
        if (status == TSW_OK)
            status = tsw_job_entry_fill(job, item, snapshot, entry, err);
    }
    return status;
}

static tsw_status_t fill_job(tsw_job_t *job, tsw_view_t view, const tsw_fileset_t *snapshot,
                             tsw_err_t *err)
{
    job->purpose = (tsw_purpose_t)tsw_view_word(view, "purpose");
    tsw_status_t status = tsw_view_copy(view, "name", &job->name, err);
    if (status == TSW_OK)
        status = fill_archs(job, view, err);
    if (status == TSW_OK)
        status = fill_compile_only(job, view, err);
    if (status == TSW_OK)
        status = fill_policy(job, view, snapshot, err);
    if (status == TSW_OK)
        status = fill_search(job, view, err);
    if (status == TSW_OK)
        status = fill_entries(job, view, snapshot, err);
    if (tsw_fileset_find(snapshot, fixed_file) != NULL)
        job->purpose = TSW_PURPOSE_FIXED; /* entries are checked as what they are */
    if (status == TSW_OK)
        status = tsw_fileset_key(snapshot, &job->key, err);
    return status;
}

tsw_status_t tsw_job_parse(const tsw_fileset_t *snapshot, const char *label, tsw_job_t **job_p,
                           tsw_err_t *err)
{
    const tsw_fileset_item_t *file = tsw_fileset_find(snapshot, TSW_JOB_FILE);
    if (file == NULL)
        return tsw_err_set(err, TSW_ERR_INPUT, "the snapshot has no %s", TSW_JOB_FILE);
    tsw_node_t *document = NULL;
    tsw_view_t view = {NULL, NULL};
    tsw_job_t *job = tsw_calloc(1, sizeof(*job));
    tsw_status_t status = job != NULL ? TSW_OK : tsw_err_nomem(err);
    if (status == TSW_OK)
        status = tsw_node_read(label, file->bytes, file->size, &document, err);
    if (status == TSW_OK)
        status = tsw_view_open(TSW_SCHEMA_JOB, document, &view, err);
    if (status == TSW_OK)
        status = fill_job(job, view, snapshot, err);
    tsw_node_free(document);
    if (status == TSW_OK)
        *job_p = job;
    else
        tsw_job_free(job);
    return status;
}
