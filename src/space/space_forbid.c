#include "space/space_forbid.h"

#include "pack/place.h"
#include "space/kind.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define COUNT_OF(_a) (sizeof(_a) / sizeof((_a)[0]))

/* As the lint names them. */
static const struct {
    const char *number, *name;
} rules[TSW_FORBID_COUNT] = {
    [TSW_FORBID_NUM_CTAS] = {"R9", "no_num_ctas"},
    [TSW_FORBID_BLOCK] = {"R10", "fixed_block"},
    [TSW_FORBID_TUNABLE] = {"R28", "only_tiles"},
};

/* Names of what is chosen with the kernel, not with its configs, also where they call it a tile. */
static bool is_code_choice(const char *name)
{
    static const char *const words[] = {"GROUP", "SWAP",  "LATENCY", "TMA",    "WARP",
                                        "STAGE", "SPLIT", "SUBTILE", "BUFFER", "ORDER"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        size_t length = strlen(words[i]);
        for (const char *at = name; *at != '\0'; at++) {
            if (strncasecmp(at, words[i], length) == 0)
                return true;
        }
    }
    return false;
}

bool tsw_space_forbids(const tsw_pack_t *pack, size_t knob, tsw_forbid_t rule)
{
    const tsw_knob_t *k = &pack->knobs[knob];
    const tsw_kind_t *kind = tsw_kind_of(pack);
    switch (rule) {
    case TSW_FORBID_NUM_CTAS:
        return !kind->num_ctas && strcmp(k->name, "num_ctas") == 0;
    case TSW_FORBID_BLOCK:
        return !kind->tiles && !k->is_hint;
    case TSW_FORBID_TUNABLE:
        return pack->language == TSW_LANGUAGE_TILE && !k->is_hint &&
               (!k->is_tile || is_code_choice(k->name));
    case TSW_FORBID_COUNT:
        break;
    }
    return false;
}

/* At the place of the job's entry, if there is one; the pack's own is told besides. */
static tsw_status_t refuse(const tsw_pack_t *pack, tsw_place_t place, const tsw_job_entry_t *entry,
                           const char *rule, const char *what, tsw_err_t *err)
{
    return tsw_place_err(err, TSW_ERR_INPUT,
                         entry != NULL ? entry->place : (tsw_place_t){.file = NULL},
                         "pack %s, %s:%d: %s: purpose release never searches %s of this kind (%s): "
                         "'tilesweep lint' has the fix, purpose research may, and 'exceptions' of "
                         "the pack give a reason (docs/rules.md#lint)",
                         pack->name, place.file, place.line, rule, what, tsw_kind_of(pack)->name);
}

static bool is_searched(const tsw_space_t *space, size_t knob)
{
    for (size_t i = 1; i < space->count; i++) {
        if (space->configs[i].values[knob] != space->configs[0].values[knob])
            return true;
    }
    return false;
}

static tsw_status_t check_knob(const tsw_pack_t *pack, size_t knob, const tsw_job_entry_t *entry,
                               tsw_err_t *err)
{
    for (int r = 0; r < TSW_FORBID_COUNT; r++) {
        char rule[64];
        if (!tsw_space_forbids(pack, knob, (tsw_forbid_t)r) ||
            tsw_pack_exception(pack, rules[r].name, 0) != NULL)
            continue;
        snprintf(rule, sizeof(rule), "%s %s", rules[r].number, rules[r].name);
        return refuse(pack, pack->knobs[knob].place, entry, rule, pack->knobs[knob].name, err);
    }
    return TSW_OK;
}

static tsw_status_t check_occupancy(const tsw_space_t *space, const tsw_pack_t *pack,
                                    tsw_arch_t arch, const tsw_job_entry_t *entry, tsw_err_t *err)
{
    const int knob = tsw_pack_knob_index(pack, "occupancy");
    const int64_t highest = tsw_kind_of(pack)->occupancy_max;
    const tsw_config_list_t *list = tsw_pack_list(pack, arch);
    if (knob < 0 || tsw_pack_exception(pack, "dual_occupancy", arch) != NULL)
        return TSW_OK;
    for (size_t i = 1; i < space->count; i++) { /* the baseline is what it is */
        char what[64];
        if (space->configs[i].values[knob] <= highest)
            continue;
        snprintf(what, sizeof(what), "occupancy %lld", (long long)space->configs[i].values[knob]);
        return refuse(pack, list != NULL ? list->place : pack->baseline_place, entry,
                      "R5 dual_occupancy", what, err);
    }
    return TSW_OK;
}

tsw_status_t tsw_space_forbid_check(const tsw_space_t *space, const tsw_pack_t *pack,
                                    tsw_arch_t arch, const tsw_job_entry_t *entry, tsw_err_t *err)
{
    if (pack->language != TSW_LANGUAGE_TILE)
        return TSW_OK;
    for (size_t k = 0; k < pack->knob_count; k++) {
        tsw_status_t status = is_searched(space, k) ? check_knob(pack, k, entry, err) : TSW_OK;
        if (status != TSW_OK)
            return status;
    }
    return check_occupancy(space, pack, arch, entry, err);
}
