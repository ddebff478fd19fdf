#include "pack/expr_lex.h"

#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 63, CANDIDATE_MAX = 96 };

typedef enum { TOKEN_END, TOKEN_NAME, TOKEN_INTEGER, TOKEN_REAL, TOKEN_OPERATOR, TOKEN_BAD } kind_t;

typedef struct {
    kind_t kind;
    const char *start;
    size_t size;
} token_t;

const char *const tsw_expr_functions[] = {"ceildiv", "max", "min", "np2", "pow2"};
const size_t tsw_expr_function_count = sizeof(tsw_expr_functions) / sizeof(tsw_expr_functions[0]);

static const char *const operator_words[] = {"and", "false", "not", "or", "true"};
static const char *const other_keywords[] = {"break",    "do",     "else", "elseif", "end",   "for",
                                             "function", "goto",   "if",   "in",     "local", "nil",
                                             "repeat",   "return", "then", "until",  "while"};

/* What people write by habit, and what it is called here. */
static const char *const habits[][2] = {
    {"!=", "write ~= for 'not equal'"},
    {"&&", "write and"},
    {"||", "write or"},
    {"!", "write not"},
    {"--", "no comments here"},
    {"==", ""},
    {"=", "write == to compare"},
    {"?", "write c and a or b"},
};

static bool is_among(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(word, words[i]) == 0)
            return true;
    }
    return false;
}

static bool is_function(const char *name)
{
    return is_among(name, tsw_expr_functions, tsw_expr_function_count);
}

static bool is_operator_word(const char *word)
{
    return is_among(word, operator_words, sizeof(operator_words) / sizeof(operator_words[0]));
}

bool tsw_expr_is_reserved(const char *name)
{
    return is_function(name) || is_operator_word(name) ||
           is_among(name, other_keywords, sizeof(other_keywords) / sizeof(other_keywords[0]));
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool tsw_expr_is_name(const char *name)
{
    if (isdigit((unsigned char)name[0]) || name[0] == '\0' || strlen(name) > WORD_MAX)
        return false;
    for (const char *c = name; *c != '\0'; c++) {
        if (!is_word_char(*c))
            return false;
    }
    return !tsw_expr_is_reserved(name);
}

static token_t number_token(const char *start)
{
    const char *end = start;
    kind_t kind = TOKEN_INTEGER;
    while (isdigit((unsigned char)*end))
        end++;
    if (*end == '.') {
        kind = TOKEN_REAL;
        end++;
        while (isdigit((unsigned char)*end))
            end++;
    }
    if (*end == 'e' || *end == 'E') {
        kind = TOKEN_REAL;
        end++;
        if (*end == '+' || *end == '-')
            end++;
        if (!isdigit((unsigned char)*end))
            kind = TOKEN_BAD;
        while (isdigit((unsigned char)*end))
            end++;
    }
    if (is_word_char(*end) || *end == '.') {
        kind = TOKEN_BAD;
        while (is_word_char(*end) || *end == '.')
            end++;
    }
    return (token_t){kind, start, (size_t)(end - start)};
}

static token_t next_token(const char *text)
{
    static const char *const operators[] = {"//", "<=", ">=", "==", "~=", "+", "-", "*",
                                            "/",  "%",  "^",  "(",  ")",  ",", "<", ">"};
    const char *start = text + strspn(text, " \t\r\n");
    if (*start == '\0')
        return (token_t){TOKEN_END, start, 0};
    if (isdigit((unsigned char)*start))
        return number_token(start);
    if (is_word_char(*start)) {
        const char *end = start;
        while (is_word_char(*end))
            end++;
        return (token_t){TOKEN_NAME, start, (size_t)(end - start)};
    }
    if (!tsw_text_starts_with(start, "--")) {
        for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
            if (tsw_text_starts_with(start, operators[i]))
                return (token_t){TOKEN_OPERATOR, start, strlen(operators[i])};
        }
    }
    return (token_t){TOKEN_BAD, start, 1};
}

static const char *habit_of(const char *start)
{
    for (size_t i = 0; i < sizeof(habits) / sizeof(habits[0]); i++) {
        if (tsw_text_starts_with(start, habits[i][0]))
            return habits[i][1];
    }
    return "";
}

static tsw_status_t bad_token(const tsw_expr_t *expr, token_t token, tsw_err_t *err)
{
    int size = token.size > 40 ? 40 : (int)token.size;
    const char *habit = habit_of(token.start);
    return tsw_expr_err(err, TSW_ERR_INPUT, expr, "'%.*s' has no place in an expression%s%s", size,
                        token.start, habit[0] != '\0' ? ": " : "", habit);
}

char *tsw_expr_hint(const char *word, const char *const *names, size_t count, char out[96])
{
    const char *candidates[CANDIDATE_MAX];
    size_t n = 0;
    for (size_t i = 0; i < count && n < CANDIDATE_MAX - tsw_expr_function_count; i++)
        candidates[n++] = names[i];
    for (size_t i = 0; i < tsw_expr_function_count; i++)
        candidates[n++] = tsw_expr_functions[i];
    return tsw_name_hint(word, candidates, n, out);
}

static tsw_status_t check_word(const tsw_expr_t *expr, token_t token, const char *const *names,
                               size_t count, tsw_err_t *err)
{
    char word[WORD_MAX + 1];
    if (token.size > WORD_MAX)
        return bad_token(expr, token, err);
    memcpy(word, token.start, token.size);
    word[token.size] = '\0';
    bool called = next_token(token.start + token.size).start[0] == '(';
    if (is_operator_word(word))
        return TSW_OK;
    if (is_function(word)) {
        return called ? TSW_OK
                      : tsw_expr_err(err, TSW_ERR_INPUT, expr, "'%s' is a function: write %s(...)",
                                     word, word);
    }
    if (tsw_expr_is_reserved(word))
        return bad_token(expr, token, err);
    bool known = names == NULL || is_among(word, names, count);
    if (known && !called)
        return TSW_OK;
    char hint[96];
    if (known)
        return tsw_expr_err(err, TSW_ERR_INPUT, expr, "'%s' is no function", word);
    return tsw_expr_err(err, TSW_ERR_INPUT, expr, "unknown name '%s'%s", word,
                        tsw_expr_hint(word, names, count, hint));
}

static tsw_status_t check_integer(const tsw_expr_t *expr, token_t token, tsw_err_t *err)
{
    char digits[32];
    int64_t value = 0;
    snprintf(digits, sizeof(digits), "%.*s", token.size > 30 ? 30 : (int)token.size, token.start);
    if (tsw_text_parse_i64(digits, &value))
        return TSW_OK;
    return tsw_expr_err(err, TSW_ERR_OVERFLOW, expr, "%s is beyond a 64-bit integer", digits);
}

tsw_status_t tsw_expr_scan(const tsw_expr_t *expr, const char *const *names, size_t count,
                           tsw_buf_t *real, tsw_err_t *err)
{
    if (strlen(expr->text) > TSW_EXPR_TEXT_MAX)
        return tsw_place_err(err, TSW_ERR_INPUT, expr->place,
                             "an expression has at most %d characters", TSW_EXPR_TEXT_MAX);
    const char *done = expr->text;
    int depth = 0; /* of parentheses */
    for (;;) {
        token_t token = next_token(done);
        tsw_status_t status = TSW_OK;
        if (token.kind == TOKEN_OPERATOR)
            depth += *token.start == '(' ? 1 : *token.start == ')' ? -1 : 0;
        if (depth < 0)
            return tsw_expr_err(err, TSW_ERR_INPUT, expr, "%s", "a ')' closes nothing");
        if (token.kind == TOKEN_BAD)
            status = bad_token(expr, token, err);
        else if (token.kind == TOKEN_NAME)
            status = check_word(expr, token, names, count, err);
        else if (token.kind == TOKEN_INTEGER)
            status = check_integer(expr, token, err);
        if (status != TSW_OK)
            return status;
        const char *end = token.start + token.size;
        if (real != NULL) {
            tsw_buf_append(real, done, (size_t)(end - done));
            tsw_buf_append_text(real, token.kind == TOKEN_INTEGER ? ".0" : "");
        }
        if (token.kind == TOKEN_END)
            return TSW_OK;
        done = end;
    }
}

bool tsw_expr_uses(const tsw_expr_t *expr, const char *name)
{
    if (expr->text == NULL)
        return false;
    const char *done = expr->text;
    for (;;) {
        token_t token = next_token(done);
        if (token.kind == TOKEN_END)
            return false;
        if (token.kind == TOKEN_NAME && token.size == strlen(name) &&
            memcmp(token.start, name, token.size) == 0)
            return true;
        done = token.start + token.size;
    }
}
