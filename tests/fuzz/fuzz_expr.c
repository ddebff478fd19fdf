/* An expression: checked, and evaluated as each type. */
#include "fuzz.h"

#include "base/mem.h"
#include "pack/expr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"M", "N", "TILE_M"};
    tsw_err_t err = TSW_ERR_INIT;
    tsw_eval_t *eval = NULL;
    tsw_expr_t expr = {.text = fuzz_text(data, size), .place = {.file = "f", .line = 1}};
    int64_t number = 0;
    double real = 0;
    bool truth = false;
    fuzz_must(tsw_eval_new(&eval, &err), &err);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        fuzz_must(tsw_eval_set(eval, names[i], (int64_t)(64 << i), &err), &err);
    tsw_expr_check(&expr, names, sizeof(names) / sizeof(names[0]), &err);
    tsw_expr_uses(&expr, "M");
    tsw_expr_is_name(expr.text);
    tsw_eval_i64(eval, &expr, &number, &err);
    tsw_eval_f64(eval, &expr, &real, &err);
    tsw_eval_bool(eval, &expr, &truth, &err);
    tsw_eval_free(eval);
    tsw_free(expr.text);
    return 0;
}
