#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_MAX 1e9 /* fits into 64 bits of ns */

enum { WORD_MAX = 63 };

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Optimal string alignment distance; words longer than WORD_MAX are compared by their start. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t d[WORD_MAX + 1][WORD_MAX + 1];
    size_t n = strlen(a) < WORD_MAX ? strlen(a) : WORD_MAX;
    size_t m = strlen(b) < WORD_MAX ? strlen(b) : WORD_MAX;
    for (size_t i = 0; i <= n; i++)
        d[i][0] = i;
    for (size_t j = 0; j <= m; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            int ca = tolower((unsigned char)a[i - 1]);
            int cb = tolower((unsigned char)b[j - 1]);
            d[i][j] = min3(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (ca != cb));
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
                tolower((unsigned char)a[i - 2]) == cb && d[i - 2][j - 2] + 1 < d[i][j])
                d[i][j] = d[i - 2][j - 2] + 1;
        }
    }
    return d[n][m];
}

const char *tsw_text_nearest(const char *word, const char *const *candidates, size_t count)
{
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t longer = strlen(word) > strlen(candidates[i]) ? strlen(word) : strlen(candidates[i]);
        size_t limit = longer / 3 < 1 ? 1 : longer / 3 > 4 ? 4 : longer / 3;
        size_t distance = edit_distance(word, candidates[i]);
        /* Words of one letter that differ have nothing in common. */
        if (distance <= limit && distance < longer && distance < best_distance) {
            best = candidates[i];
            best_distance = distance;
        }
    }
    return best;
}

bool tsw_text_parse_i64(const char *text, int64_t *value_p)
{
    const char *digits = text[0] == '-' ? text + 1 : text;
    if (!isdigit((unsigned char)digits[0]))
        return false;
    errno = 0;
    char *end = NULL;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0')
        return false;
    *value_p = value;
    return true;
}

bool tsw_text_parse_f64(const char *text, double *value_p)
{
    if (text[0] == '\0' || isspace((unsigned char)text[0]) || strpbrk(text, "xXnN") != NULL)
        return false;
    errno = 0;
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value))
        return false;
    *value_p = value;
    return true;
}

bool tsw_text_parse_seconds(const char *text, double *seconds_p)
{
    char number[32];
    size_t n = strlen(text);
    if (n == 0 || n >= sizeof(number))
        return false;
    double scale = 1.0;
    char unit = text[n - 1];
    if (unit == 's' || unit == 'm' || unit == 'h') {
        scale = unit == 's' ? 1.0 : unit == 'm' ? 60.0 : 3600.0;
        n--;
    }
    memcpy(number, text, n);
    number[n] = '\0';
    double value = 0.0;
    if (!tsw_text_parse_f64(number, &value) || value < 0.0 || value * scale > SECONDS_MAX)
        return false;
    *seconds_p = value * scale;
    return true;
}

static char *format_scaled(double value, const char *const *units, size_t count, double step,
                           char out[32])
{
    size_t unit = 0;
    while (unit + 1 < count && fabs(value) >= step) {
        value /= step;
        unit++;
    }
    int decimals = fabs(value) >= 100.0 ? 0 : fabs(value) >= 10.0 ? 1 : 2;
    snprintf(out, 32, "%.*f %s", decimals, value, units[unit]);
    return out;
}

char *tsw_text_format_ns(double ns, char out[32])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    return format_scaled(ns, units, 4, 1000.0, out);
}

char *tsw_text_format_seconds(double seconds, char out[32])
{
    if (!isfinite(seconds))
        snprintf(out, 32, "?");
    else if (seconds < 100)
        snprintf(out, 32, "%.0f s", seconds);
    else if (seconds < 6000)
        snprintf(out, 32, "%.0f min", seconds / 60);
    else
        snprintf(out, 32, "%.1f h", seconds / 3600);
    return out;
}

char *tsw_text_format_bytes(double bytes, char out[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    return format_scaled(bytes, units, 5, 1024.0, out);
}

bool tsw_text_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool tsw_text_ends_with(const char *text, const char *suffix)
{
    size_t n = strlen(text);
    size_t m = strlen(suffix);
    return n >= m && strcmp(text + n - m, suffix) == 0;
}
