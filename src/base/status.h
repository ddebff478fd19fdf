/* Status codes: what went wrong with the tool. What happened to a config is an outcome
 * (record/outcome.h), never a status. */
#ifndef TSW_BASE_STATUS_H
#define TSW_BASE_STATUS_H

/* X(name, value, text) */
#define TSW_STATUS_MAP(X)                                                                          \
    X(OK, 0, "ok")                                                                                 \
    X(ERR_NOMEM, -1, "out of host memory")                                                         \
    X(ERR_ARG, -2, "bad argument")                                                                 \
    X(ERR_INPUT, -3, "bad input file")                                                             \
    X(ERR_NOT_FOUND, -4, "not found")                                                              \
    X(ERR_EXISTS, -5, "already exists")                                                            \
    X(ERR_IO, -6, "input/output error")                                                            \
    X(ERR_FULL, -7, "no space left")                                                               \
    X(ERR_CORRUPT, -8, "corrupt data")                                                             \
    X(ERR_VERSION, -9, "wrong version")                                                            \
    X(ERR_ENV, -10, "environment lacks something")                                                 \
    X(ERR_UNSUPPORTED, -11, "not supported")                                                       \
    X(ERR_OVERFLOW, -12, "value out of range")                                                     \
    X(ERR_TIMEOUT, -13, "timed out")                                                               \
    X(ERR_CANCELED, -14, "canceled")                                                               \
    X(ERR_DEVICE, -15, "device error")                                                             \
    X(ERR_DEVICE_LOST, -16, "device context lost")                                                 \
    X(ERR_DEVICE_MEMORY, -17, "out of device memory")                                              \
    X(ERR_PEER, -18, "peer process failed")                                                        \
    X(ERR_BUG, -19, "internal error")                                                              \
    X(ERR_DEVICE_UNFIT, -20, "the device must not be used any more")

typedef enum {
#define TSW_STATUS_ENUM(_name, _value, _text) TSW_##_name = (_value),
    TSW_STATUS_MAP(TSW_STATUS_ENUM)
#undef TSW_STATUS_ENUM
} tsw_status_t;

/* Static text of a status; "unknown status" for a value outside the list. */
const char *tsw_status_text(tsw_status_t status);

#endif
