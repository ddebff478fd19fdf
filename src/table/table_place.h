/* Where in a JSON text something is: the parser keeps no places, messages want them. */
#ifndef TSW_TABLE_TABLE_PLACE_H
#define TSW_TABLE_TABLE_PLACE_H

#include <stddef.h>

#define TSW_TABLE_PATH_MAX 8

/* Steps from the top: a key, or (key NULL) an index of an array. */
typedef struct {
    struct {
        const char *key;
        size_t index;
    } steps[TSW_TABLE_PATH_MAX];
    size_t count;
} tsw_table_path_t;

/* Line and column (bytes, from 1) of what the path leads to: for a key the key itself. text is
 * JSON that a parser has accepted. Where a step finds nothing, the place reached before. */
void tsw_table_place_find(const char *text, size_t size, const tsw_table_path_t *path, int *line_p,
                          int *column_p);

#endif
