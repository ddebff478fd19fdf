/* What the fake NVRTC and the fake tileiras share: a "compiler" that looks at names only, and
 * writes small valid cubins. Plain C, independent of tilesweep's own code. */
#ifndef TSW_TEST_FAKE_COMPILER_H
#define TSW_TEST_FAKE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_MAX      64
#define FAKE_TEXT_MAX 256

/* A translation unit, as far as the fakes understand it.
 *
 * Entries are the names of __global__ and __tile_global__ functions. Directives are lines of the
 * source of the form
 *     // FAKE: action [when NAME=VALUE] [on sm_90]
 * which act only with that macro and for that arch:
 *   error           NVRTC refuses the source (as #error does)
 *   hint_dropped    NVRTC warns that it dropped a hint, and goes on
 *   nvrtc_oom       NVRTC runs out of memory
 *   nvrtc_builtins  NVRTC lacks its builtins library
 *   nvrtc_crash     the process dies inside NVRTC
 *   nvrtc_spin      NVRTC never ends
 *   spin            tileiras never ends
 *   ptxas_spin      tileiras starts a ptxas that never ends
 *   fail            tileiras exits with 5
 *   chatty          fails after 2.6 MB of text
 *   fail_once       the same, but not again in the same folder
 *   crash           tileiras dies of SIGSEGV
 *   killed          tileiras dies of SIGKILL
 *   garbage         the cubin is garbage
 *   no_cubin        no cubin is written
 *   no_entry        the cubin has an entry of another name
 *   same_code       the cubin does not depend on the macros
 *   regs=N shared=N spill=N   facts of the cubin */
typedef struct {
    char entries[FAKE_MAX][FAKE_TEXT_MAX];
    size_t entry_count;
    char defines[FAKE_MAX][FAKE_TEXT_MAX]; /* "TILE_M=128" */
    size_t define_count;
    char directives[FAKE_MAX][FAKE_TEXT_MAX];
    size_t directive_count;
    uint64_t hash; /* of the source */
    bool tile;
} fake_unit_t;

void fake_unit_read(fake_unit_t *unit, const char *source, int option_count,
                    const char *const *options);
/* arch 0: none is known yet, directives with "on" do not act. */
bool fake_unit_does(const fake_unit_t *unit, const char *action, unsigned arch);

/* The fake Tile IR: text. Returns its size; out has room for size bytes. */
size_t fake_unit_write_ir(const fake_unit_t *unit, char *out, size_t size);
bool fake_unit_read_ir(fake_unit_t *unit, const char *ir);

/* What a cubin says of each of its kernels. */
typedef struct {
    unsigned arch; /* 90 */
    uint32_t registers, frame, shared, threads, cluster;
    uint64_t code; /* seeds the bytes of the code */
} fake_cubin_t;

/* The cubin of a unit, or any cubin. Return the size written, 0 when out is too small. */
size_t fake_unit_write_cubin(const fake_unit_t *unit, unsigned arch, uint8_t *out, size_t size);
size_t fake_cubin_write(const fake_cubin_t *cubin, const char *const *entries, size_t entry_count,
                        uint8_t *out, size_t size);

/* Use processor time until somebody ends it. */
_Noreturn void fake_spin(void);

#endif
