/* A small pack as text, for tests that bend one place of it. */
#ifndef TSW_TESTS_PACK_TEXT_H
#define TSW_TESTS_PACK_TEXT_H

#include "base/fileset.h"

/* A kernel.yaml of every kind of key. */
extern const char *const tsw_test_pack_text;

/* text with the first occurrence of old replaced by new (which must be there); heap, tsw_free. */
char *tsw_test_replace(const char *text, const char *old, const char *new_text);

/* The files of a pack folder around this kernel.yaml. */
void tsw_test_pack_files(const char *yaml, tsw_fileset_t *files);

/* A whole file of the source tree; heap, tsw_free. */
char *tsw_test_source_file(const char *path);

#endif
