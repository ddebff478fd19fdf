#include "rules_lint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

tsw_lint_t rules_lint_of(const tsw_pack_t *pack)
{
    tsw_lint_t lint = {0};
    tsw_err_t err = TSW_ERR_INIT;
    if (tsw_lint_pack(pack, &lint, &err) != TSW_OK)
        fail_msg("%s", err.text);
    return lint;
}
