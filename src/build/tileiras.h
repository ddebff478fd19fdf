/* Tile IR -> cubin: one run of tileiras. */
#ifndef TSW_BUILD_TILEIRAS_H
#define TSW_BUILD_TILEIRAS_H

#include "build/build.h"

/* Compile work_dir/ir_name for arch; tileiras starts ptxas. All its files stay below work_dir, and
 * what it says is appended to log. Fills outcome, detail, cubin and the compile times of
 * *artifact_p; the times also when it fails. TSW_ERR_ENV: tileiras cannot be started; TSW_ERR_FULL:
 * no space below work_dir. */
tsw_status_t tsw_tileiras_run(const tsw_toolchain_t *toolchain, const char *work_dir,
                              const char *ir_name, tsw_arch_t arch, double cpu_limit_s,
                              tsw_artifact_t *artifact_p, tsw_buf_t *log, tsw_err_t *err);

#endif
