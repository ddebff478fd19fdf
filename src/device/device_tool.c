#include "device/device.h"

/* Generated from tool_values.h and tool_kernels.cu. */
extern const char tsw_tool_source_text[];

const char tsw_tool_entry[] = "tsw_tool_canary";

const char *tsw_tool_source(void)
{
    return tsw_tool_source_text;
}
