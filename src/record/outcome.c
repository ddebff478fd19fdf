#include "record/outcome.h"

#include <string.h>

static const struct {
    const char *name;
    bool again;
} outcomes[] = {
#define ROW(_name, _text, _again) [TSW_OUTCOME_##_name] = {.name = (_text), .again = (_again)},
    TSW_OUTCOME_MAP(ROW)
#undef ROW
};

static bool is_known(tsw_outcome_t outcome)
{
    return (int)outcome >= 0 && outcome < TSW_OUTCOME_COUNT;
}

const char *tsw_outcome_name(tsw_outcome_t outcome)
{
    return is_known(outcome) ? outcomes[outcome].name : "?";
}

bool tsw_outcome_parse(const char *name, tsw_outcome_t *outcome_p)
{
    for (int i = 0; i < TSW_OUTCOME_COUNT; i++) {
        if (strcmp(outcomes[i].name, name) == 0) {
            *outcome_p = (tsw_outcome_t)i;
            return true;
        }
    }
    return false;
}

bool tsw_outcome_again(tsw_outcome_t outcome)
{
    return is_known(outcome) && outcomes[outcome].again;
}

bool tsw_outcome_is_usable(tsw_outcome_t outcome)
{
    return outcome == TSW_OUTCOME_OK || outcome == TSW_OUTCOME_COMPILED;
}

bool tsw_outcome_is_fault(tsw_outcome_t outcome)
{
    switch (outcome) {
    case TSW_OUTCOME_OK:
    case TSW_OUTCOME_COMPILED:
    case TSW_OUTCOME_ALIAS:
    case TSW_OUTCOME_INTERRUPTED:
    case TSW_OUTCOME_SKIPPED:
        return false;
    default:
        return true;
    }
}
