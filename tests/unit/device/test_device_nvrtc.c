/* The tool's own kernels compile with NVRTC for all archs, without a header and without a word.
 * Skipped (77) where the toolchain is not set up. */
#include "device/device.h"
#include "nvrtc_lite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool check(const char *arch)
{
    tsw_buf_t cubin = TSW_BUF_INIT, log = TSW_BUF_INIT;
    bool good = nvrtc_lite_compile(tsw_tool_source(), arch, &cubin, &log);
    bool silent = tsw_buf_text(&log)[0] == '\0';
    printf("%s: cubin of %zu bytes %s\n", arch, cubin.size, tsw_buf_text(&log));
    tsw_buf_fini(&cubin);
    tsw_buf_fini(&log);
    return good && silent;
}

int main(void)
{
    static const char *const archs[] = {"sm_80", "sm_89", "sm_90", "sm_100", "sm_120"};
    if (!nvrtc_lite_open(getenv("TSW_TEST_NVRTC_ROOT")))
        return 77;
    if (strstr(tsw_tool_source(), tsw_tool_entry) == NULL)
        return 1;
    int failed = 0;
    for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++)
        failed += !check(archs[i]);
    return failed > 0;
}
