/* A fuzz target reads one input and leaves nothing behind. What the input is may be refused; what
 * must not happen is seen by the sanitizers, by TSW_ASSERT, or as a hang. */
#ifndef TSW_TESTS_FUZZ_H
#define TSW_TESTS_FUZZ_H

#include "base/fileset.h"

#include <stddef.h>
#include <stdint.h>

/* The target itself; its name is libFuzzer's. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input as text, cut at its first zero; heap. Dies when out of memory. */
char *fuzz_text(const uint8_t *data, size_t size);
/* A file that holds the input, for readers that open it themselves; in memory where there is
 * /dev/shm. The same path each time, of this process; removed at its end. */
const char *fuzz_file(const char *name, const uint8_t *data, size_t size);
/* The folder of that file. */
const char *fuzz_dir(void);
/* The shipped packs as "packs/<name>/.."; borrowed. */
const tsw_fileset_t *fuzz_packs(void);
/* For what a target itself needs: dies with the text of err. */
void fuzz_must(tsw_status_t status, const tsw_err_t *err);

#endif
