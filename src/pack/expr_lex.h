/* Tokens of expressions (pack/expr.h): the small part of Lua that they may use. Private to pack. */
#ifndef TSW_PACK_EXPR_LEX_H
#define TSW_PACK_EXPR_LEX_H

#include "base/buf.h"
#include "pack/expr.h"

#define TSW_EXPR_TEXT_MAX 4096

extern const char *const tsw_expr_functions[];
extern const size_t tsw_expr_function_count;

/* Reads all tokens. A variable that is not among names[0..count) is an error with the nearest one;
 * names NULL: any will do. When real is given, the text is appended to it with every whole number
 * written as a real one. TSW_ERR_INPUT. */
tsw_status_t tsw_expr_scan(const tsw_expr_t *expr, const char *const *names, size_t count,
                           tsw_buf_t *real, tsw_err_t *err);

/* Error "place: in 'text': ...". */
#define tsw_expr_err(_err, _code, _expr, _format, ...)                                             \
    tsw_place_err((_err), (_code), (_expr)->place, "in '%.200s': " _format, (_expr)->text,         \
                  __VA_ARGS__)

/* tsw_name_hint among names and the functions. */
char *tsw_expr_hint(const char *word, const char *const *names, size_t count, char out[96]);

#endif
