/* The status.json of a run, as `watch` shows it, and a calibration. */
#include "fuzz.h"

#include "cli/cli_roof.h"
#include "cli/cli_status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tsw_err_t err = TSW_ERR_INIT;
    tsw_run_state_t state;
    tsw_calibration_t calibration;
    const char *path = fuzz_file("status.json", data, size);
    if (tsw_cli_status_read(fuzz_dir(), &state, &err) == TSW_OK) {
        tsw_buf_t out = TSW_BUF_INIT;
        tsw_cli_status_line(&state, "run", 3, &out);
        tsw_cli_status_print(&state, "run", 1e9, &out);
        tsw_cli_status_exit(&state);
        tsw_buf_fini(&out);
        tsw_cli_status_fini(&state);
    }
    if (tsw_roof_read(path, &calibration, &err) == TSW_OK) {
        tsw_calibration_check(&calibration);
        tsw_calibration_roof_ns(&calibration, "dtype=f16", 1e9, 1e6);
    }
    return 0;
}
