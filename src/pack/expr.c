#include "pack/expr.h"

#include "base/mem.h"
#include "pack/expr_lex.h"

#include <lauxlib.h>
#include <lua.h>

#include <math.h>
#include <string.h>

enum { MEMORY_LIMIT_BYTES = 1024 * 1024, INSTRUCTION_LIMIT = 100000, NAME_LIST_MAX = 64 };

/* Every expression exists twice: over integers, and over reals to notice an overflow. */
typedef enum { MODE_INTEGER, MODE_REAL, MODE_COUNT } eval_mode_t;

struct tsw_eval {
    lua_State *lua;
    size_t used_bytes;
    bool limit_was_hit;
    int env[MODE_COUNT];   /* registry references: name -> value */
    int cache[MODE_COUNT]; /* text -> compiled chunk */
};

typedef enum { RESULT_INTEGER, RESULT_REAL, RESULT_BOOL } result_kind_t;

typedef struct {
    tsw_eval_t *eval;
    eval_mode_t mode;
    const char *text;   /* as written: key of the cache */
    const char *source; /* Lua text of the mode; NULL: evaluate only what is compiled already */
    bool missing;       /* set when it was not */
    result_kind_t kind;
    int64_t integer;
    double real; /* also set for an integer */
    bool truth;
} request_t;

/* ---- memory ---- */

static void *allocate(void *user, void *old, size_t old_size, size_t new_size)
{
    tsw_eval_t *eval = user;
    size_t before = old != NULL ? old_size : 0;
    if (new_size == 0) {
        eval->used_bytes -= before;
        tsw_free(old);
        return NULL;
    }
    if (eval->used_bytes - before + new_size > MEMORY_LIMIT_BYTES) {
        eval->limit_was_hit = true;
        return NULL;
    }
    void *memory = tsw_realloc_array(old, 1, new_size);
    if (memory == NULL && new_size <= before)
        memory = old; /* Lua counts on it that shrinking works */
    if (memory != NULL)
        eval->used_bytes = eval->used_bytes - before + new_size;
    return memory;
}

/* ---- functions of expressions: run inside Lua, errors leave by luaL_error ---- */

static int fn_ceildiv(lua_State *L)
{
    if (!lua_isinteger(L, 1) || !lua_isinteger(L, 2)) {
        lua_pushnumber(L, ceil(luaL_checknumber(L, 1) / luaL_checknumber(L, 2)));
        return 1;
    }
    lua_Integer a = lua_tointeger(L, 1);
    lua_Integer b = lua_tointeger(L, 2);
    if (b == 0)
        return luaL_error(L, "ceildiv divides by zero");
    if (b == -1) { /* the one quotient that overflows */
        lua_pushinteger(L, (lua_Integer)(0 - (lua_Unsigned)a));
        return 1;
    }
    lua_Integer quotient = a / b;
    if (a % b != 0 && (a < 0) == (b < 0))
        quotient++;
    lua_pushinteger(L, quotient);
    return 1;
}

static int pick(lua_State *L, bool want_less)
{
    int best = 1;
    int count = lua_gettop(L);
    luaL_checknumber(L, 1);
    for (int i = 2; i <= count; i++) {
        luaL_checknumber(L, i);
        if (want_less ? lua_compare(L, i, best, LUA_OPLT) : lua_compare(L, best, i, LUA_OPLT))
            best = i;
    }
    lua_pushvalue(L, best);
    return 1;
}

static int fn_min(lua_State *L)
{
    return pick(L, true);
}

static int fn_max(lua_State *L)
{
    return pick(L, false);
}

static int fn_np2(lua_State *L)
{
    if (!lua_isinteger(L, 1)) {
        double x = luaL_checknumber(L, 1);
        int exponent = 0;
        bool exact = frexp(x, &exponent) == 0.5;
        lua_pushnumber(L, x <= 1.0 ? 1.0 : ldexp(1.0, exact ? exponent - 1 : exponent));
        return 1;
    }
    lua_Integer x = lua_tointeger(L, 1);
    lua_Integer power = 1;
    while (power < x) {
        if (power > LUA_MAXINTEGER / 2)
            return luaL_error(L, "np2 is beyond a 64-bit integer");
        power *= 2;
    }
    lua_pushinteger(L, power);
    return 1;
}

static int fn_pow2(lua_State *L)
{
    if (lua_isinteger(L, 1)) {
        lua_Integer x = lua_tointeger(L, 1);
        lua_pushboolean(L, x > 0 && (x & (x - 1)) == 0);
        return 1;
    }
    int exponent = 0;
    double x = luaL_checknumber(L, 1);
    lua_pushboolean(L, x >= 1.0 && frexp(x, &exponent) == 0.5);
    return 1;
}

/* ---- environments ---- */

/* __index of an environment: a function, else an error that names the nearest variable. Arguments:
 * environment, name. Upvalue: the functions. */
static int look_up(lua_State *L)
{
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL)
        return 1;
    const char *names[NAME_LIST_MAX];
    size_t count = 0;
    lua_pushnil(L);
    while (count < NAME_LIST_MAX && lua_next(L, 1) != 0) {
        lua_pop(L, 1);
        names[count++] = lua_tostring(L, -1); /* keys are strings, alive in the table */
    }
    char hint[96];
    const char *word = luaL_checkstring(L, 2);
    return luaL_error(L, "unknown name '%s'%s", word, tsw_expr_hint(word, names, count, hint));
}

static int set_up(lua_State *L)
{
    static const luaL_Reg functions[] = {{"ceildiv", fn_ceildiv}, {"min", fn_min},
                                         {"max", fn_max},         {"np2", fn_np2},
                                         {"pow2", fn_pow2},       {NULL, NULL}};
    tsw_eval_t *eval = lua_touserdata(L, 1);
    lua_newtable(L); /* metatable of both environments */
    luaL_newlib(L, functions);
    lua_pushcclosure(L, look_up, 1);
    lua_setfield(L, -2, "__index");
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        lua_newtable(L);
        lua_pushvalue(L, -2);
        lua_setmetatable(L, -2);
        eval->env[mode] = luaL_ref(L, LUA_REGISTRYINDEX);
        lua_newtable(L);
        eval->cache[mode] = luaL_ref(L, LUA_REGISTRYINDEX);
    }
    return 0;
}

static void clear_table(lua_State *L, int reference)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, reference);
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) { /* a field may be cleared while the table is walked */
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, -4);
    }
    lua_pop(L, 1);
}

/* ---- evaluation ---- */

static void count_hook(lua_State *L, lua_Debug *record)
{
    (void)record;
    luaL_error(L, "takes more than %d instructions", INSTRUCTION_LIMIT);
}

/* Push the chunk of the request, from the cache or compiled; false: missing. */
static bool push_chunk(lua_State *L, request_t *request)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, request->eval->cache[request->mode]);
    if (lua_getfield(L, -1, request->text) == LUA_TFUNCTION)
        return true;
    lua_pop(L, 1);
    request->missing = request->source == NULL;
    if (request->missing)
        return false;
    lua_pushfstring(L, "return (%s)", request->source);
    size_t size = 0;
    const char *source = lua_tolstring(L, -1, &size);
    if (luaL_loadbufferx(L, source, size, "=expr", "t") != LUA_OK)
        lua_error(L);
    lua_rawgeti(L, LUA_REGISTRYINDEX, request->eval->env[request->mode]);
    if (lua_setupvalue(L, -2, 1) == NULL) /* an expression without names has no environment */
        lua_pop(L, 1);
    lua_pushvalue(L, -1);
    lua_setfield(L, -4, request->text);
    return true;
}

static void read_result(lua_State *L, request_t *request)
{
    if (lua_isinteger(L, -1)) {
        request->kind = RESULT_INTEGER;
        request->integer = lua_tointeger(L, -1);
        request->real = (double)request->integer;
    } else if (lua_type(L, -1) == LUA_TNUMBER) {
        request->kind = RESULT_REAL;
        request->real = lua_tonumber(L, -1);
    } else if (lua_isboolean(L, -1)) {
        request->kind = RESULT_BOOL;
        request->truth = lua_toboolean(L, -1) != 0;
    } else {
        luaL_error(L, "gives a %s, neither a number nor true or false", luaL_typename(L, -1));
    }
}

static int evaluate(lua_State *L)
{
    request_t *request = lua_touserdata(L, 1);
    if (push_chunk(L, request)) {
        lua_call(L, 0, 1);
        read_result(L, request);
    }
    return 0;
}

static int compile_only(lua_State *L)
{
    push_chunk(L, lua_touserdata(L, 1));
    return 0;
}

static int protected_call(tsw_eval_t *eval, lua_CFunction function, void *argument)
{
    lua_sethook(eval->lua, count_hook, LUA_MASKCOUNT, INSTRUCTION_LIMIT);
    lua_pushcfunction(eval->lua, function);
    lua_pushlightuserdata(eval->lua, argument);
    return lua_pcall(eval->lua, 1, 0, 0);
}

/* The message without Lua's "expr:1: ". */
static const char *plain_message(const char *message)
{
    if (message == NULL)
        return "fails";
    if (strncmp(message, "expr:", 5) != 0)
        return message;
    const char *rest = message + 5 + strspn(message + 5, "0123456789");
    return strncmp(rest, ": ", 2) == 0 ? rest + 2 : message;
}

static tsw_status_t call(tsw_eval_t *eval, lua_CFunction function, request_t *request,
                         const tsw_expr_t *expr, tsw_err_t *err)
{
    eval->limit_was_hit = false;
    int code = protected_call(eval, function, request);
    if (code == LUA_ERRMEM) { /* once more without compiled chunks */
        lua_settop(eval->lua, 0);
        clear_table(eval->lua, eval->cache[MODE_INTEGER]);
        clear_table(eval->lua, eval->cache[MODE_REAL]);
        lua_gc(eval->lua, LUA_GCCOLLECT);
        code = protected_call(eval, function, request);
    }
    tsw_status_t status = TSW_OK;
    if (code == LUA_ERRMEM && !eval->limit_was_hit)
        status = tsw_err_nomem(err);
    else if (code == LUA_ERRMEM)
        status =
            tsw_expr_err(err, TSW_ERR_INPUT, expr, "needs more than %d bytes", MEMORY_LIMIT_BYTES);
    else if (code != LUA_OK)
        status = tsw_expr_err(err, TSW_ERR_INPUT, expr, "%s",
                              plain_message(lua_tostring(eval->lua, -1)));
    lua_settop(eval->lua, 0);
    return status;
}

/* Evaluate in one mode. */
static tsw_status_t run(tsw_eval_t *eval, eval_mode_t mode, const tsw_expr_t *expr,
                        request_t *request, tsw_err_t *err)
{
    if (expr->text == NULL)
        return tsw_place_err(err, TSW_ERR_INPUT, expr->place, "an expression is missing");
    *request = (request_t){.eval = eval, .mode = mode, .text = expr->text};
    tsw_status_t status = call(eval, evaluate, request, expr, err);
    if (status != TSW_OK || !request->missing)
        return status;
    tsw_buf_t real = TSW_BUF_INIT;
    status = tsw_expr_scan(expr, NULL, 0, mode == MODE_REAL ? &real : NULL, err);
    if (status == TSW_OK && !tsw_buf_ok(&real))
        status = tsw_err_nomem(err);
    request->source = mode == MODE_REAL ? tsw_buf_text(&real) : expr->text;
    request->missing = false;
    if (status == TSW_OK)
        status = call(eval, evaluate, request, expr, err);
    tsw_buf_fini(&real);
    return status;
}

static tsw_status_t overflow(const tsw_expr_t *expr, tsw_err_t *err)
{
    return tsw_expr_err(err, TSW_ERR_OVERFLOW, expr, "%s", "the value is beyond a 64-bit integer");
}

tsw_status_t tsw_eval_i64(tsw_eval_t *eval, const tsw_expr_t *expr, int64_t *value_p,
                          tsw_err_t *err)
{
    const double exact_limit = 9007199254740992.0; /* 2^53: reals are exact below */
    request_t exact = {0};
    request_t real = {0};
    tsw_status_t status = run(eval, MODE_INTEGER, expr, &exact, err);
    if (status == TSW_OK)
        status = run(eval, MODE_REAL, expr, &real, err);
    if (status != TSW_OK)
        return status;
    if (exact.kind == RESULT_BOOL || real.kind == RESULT_BOOL)
        return tsw_expr_err(err, TSW_ERR_INPUT, expr, "%s",
                            "gives true or false, wanted a whole number");
    if (exact.kind == RESULT_REAL && !isfinite(exact.real))
        return tsw_expr_err(err, TSW_ERR_INPUT, expr, "%s", "divides by zero or grows too large");
    if (exact.kind == RESULT_REAL && exact.real != floor(exact.real))
        return tsw_expr_err(err, TSW_ERR_INPUT, expr,
                            "gives %g, wanted a whole number (// rounds down)", exact.real);
    if (exact.kind == RESULT_REAL && fabs(exact.real) >= exact_limit)
        return overflow(expr, err);
    if (!(fabs(exact.real - real.real) <= fmax(0.25, 1e-9 * fabs(real.real))))
        return overflow(expr, err);
    *value_p = exact.kind == RESULT_REAL ? (int64_t)exact.real : exact.integer;
    return TSW_OK;
}

tsw_status_t tsw_eval_f64(tsw_eval_t *eval, const tsw_expr_t *expr, double *value_p, tsw_err_t *err)
{
    request_t real = {0};
    tsw_status_t status = run(eval, MODE_REAL, expr, &real, err);
    if (status != TSW_OK)
        return status;
    if (real.kind == RESULT_BOOL)
        return tsw_expr_err(err, TSW_ERR_INPUT, expr, "%s", "gives true or false, wanted a number");
    if (!isfinite(real.real))
        return tsw_expr_err(err, TSW_ERR_INPUT, expr, "%s", "divides by zero or grows too large");
    *value_p = real.real;
    return TSW_OK;
}

tsw_status_t tsw_eval_bool(tsw_eval_t *eval, const tsw_expr_t *expr, bool *value_p, tsw_err_t *err)
{
    request_t exact = {0};
    request_t real = {0};
    tsw_status_t status = run(eval, MODE_INTEGER, expr, &exact, err);
    if (status == TSW_OK)
        status = run(eval, MODE_REAL, expr, &real, err);
    if (status != TSW_OK)
        return status;
    if (exact.kind != RESULT_BOOL || real.kind != RESULT_BOOL)
        return tsw_expr_err(err, TSW_ERR_INPUT, expr, "%s",
                            "gives a number, wanted true or false: compare it, as in x == 1");
    if (exact.truth != real.truth)
        return overflow(expr, err);
    *value_p = exact.truth;
    return TSW_OK;
}

/* ---- life and variables ---- */

tsw_status_t tsw_eval_new(tsw_eval_t **eval_p, tsw_err_t *err)
{
    tsw_eval_t *eval = tsw_calloc(1, sizeof(*eval));
    if (eval == NULL)
        return tsw_err_nomem(err);
    eval->lua = lua_newstate(allocate, eval);
    if (eval->lua == NULL || protected_call(eval, set_up, eval) != LUA_OK) {
        tsw_eval_free(eval);
        return tsw_err_nomem(err);
    }
    *eval_p = eval;
    return TSW_OK;
}

void tsw_eval_free(tsw_eval_t *eval)
{
    if (eval == NULL)
        return;
    if (eval->lua != NULL)
        lua_close(eval->lua);
    tsw_free(eval);
}

typedef struct {
    tsw_eval_t *eval;
    const char *name;
    int64_t value;
} variable_t;

static int set_variable(lua_State *L)
{
    const variable_t *variable = lua_touserdata(L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, variable->eval->env[MODE_INTEGER]);
    lua_pushinteger(L, variable->value);
    lua_setfield(L, -2, variable->name);
    lua_rawgeti(L, LUA_REGISTRYINDEX, variable->eval->env[MODE_REAL]);
    lua_pushnumber(L, (double)variable->value);
    lua_setfield(L, -2, variable->name);
    return 0;
}

tsw_status_t tsw_eval_set(tsw_eval_t *eval, const char *name, int64_t value, tsw_err_t *err)
{
    if (!tsw_expr_is_name(name))
        return tsw_err_set(err, TSW_ERR_ARG, "'%s' is no name for a variable", name);
    variable_t variable = {.eval = eval, .name = name, .value = value};
    int code = protected_call(eval, set_variable, &variable);
    lua_settop(eval->lua, 0);
    return code == LUA_OK ? TSW_OK : tsw_err_nomem(err);
}

void tsw_eval_unset_all(tsw_eval_t *eval)
{
    clear_table(eval->lua, eval->env[MODE_INTEGER]);
    clear_table(eval->lua, eval->env[MODE_REAL]);
}

tsw_status_t tsw_expr_check(const tsw_expr_t *expr, const char *const *names, size_t count,
                            tsw_err_t *err)
{
    if (expr->text == NULL)
        return tsw_place_err(err, TSW_ERR_INPUT, expr->place, "an expression is missing");
    tsw_status_t status = tsw_expr_scan(expr, names, count, NULL, err);
    if (status != TSW_OK)
        return status;
    tsw_eval_t *eval = NULL;
    status = tsw_eval_new(&eval, err);
    if (status != TSW_OK)
        return status;
    request_t request = {
        .eval = eval, .mode = MODE_INTEGER, .text = expr->text, .source = expr->text};
    status = call(eval, compile_only, &request, expr, err);
    tsw_eval_free(eval);
    return status;
}
