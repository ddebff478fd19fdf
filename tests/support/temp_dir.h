/* A fresh folder for one test. */
#ifndef TSW_TESTS_TEMP_DIR_H
#define TSW_TESTS_TEMP_DIR_H

/* Makes it below TMPDIR, or in memory (tests sync often), or in /tmp, and returns its path (static
 * storage, one at a time). Dies with a message on failure. */
const char *tsw_temp_dir_make(void);
void tsw_temp_dir_remove(void);
/* dir/name, in one of 8 static buffers in turn. */
const char *tsw_temp_path(const char *name);

#endif
