#include "base/status.h"

const char *tsw_status_text(tsw_status_t status)
{
    switch (status) {
#define TSW_STATUS_CASE(_name, _value, _text)                                                      \
    case TSW_##_name:                                                                              \
        return _text;
        TSW_STATUS_MAP(TSW_STATUS_CASE)
#undef TSW_STATUS_CASE
    }
    return "unknown status";
}
