/* A fresh folder for one test, as cmocka's fixtures. */
#ifndef TSW_TESTS_TEMP_DIR_H
#define TSW_TESTS_TEMP_DIR_H

/* Makes it below TMPDIR, or in memory (tests sync often), or in /tmp; one at a time. Dies with a
 * message on failure. */
int tsw_temp_dir_make(void **state);
int tsw_temp_dir_remove(void **state);
/* dir/name, in one of 8 static buffers in turn. */
const char *tsw_temp_path(const char *name);

#endif
