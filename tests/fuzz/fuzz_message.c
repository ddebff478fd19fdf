/* The body of a message: the first byte says of which. */
#include "fuzz.h"

#include "base/mem.h"
#include "wire/child_msg.h"
#include "wire/keeper_msg.h"
#include "wire/rank_msg.h"
#include "wire/worker_msg.h"

#define NEEDS_FINI(NAME)                                                                           \
    {                                                                                              \
        tsw_msg_##NAME##_t msg;                                                                    \
        if (tsw_get_msg_##NAME(body, count, &msg, &err) == TSW_OK)                                 \
            tsw_msg_##NAME##_fini(&msg);                                                           \
        break;                                                                                     \
    }
#define PLAIN(NAME)                                                                                \
    {                                                                                              \
        tsw_msg_##NAME##_t msg;                                                                    \
        tsw_get_msg_##NAME(body, count, &msg, &err);                                               \
        break;                                                                                     \
    }

static void read_fileset(const uint8_t *body, size_t count, tsw_err_t *err)
{
    tsw_fileset_t set = TSW_FILESET_INIT;
    tsw_reader_t in = tsw_reader(body, count);
    tsw_get_fileset(&in, &set, err);
    tsw_fileset_fini(&set);
}

static void read_result(const uint8_t *body, size_t count, tsw_err_t *err)
{
    tsw_cell_result_t result;
    tsw_reader_t in = tsw_reader(body, count);
    if (tsw_get_cell_result(&in, &result, err) == TSW_OK)
        tsw_cell_result_fini(&result);
}

static void read_calibration(const uint8_t *body, size_t count)
{
    tsw_calibration_t calibration;
    tsw_reader_t in = tsw_reader(body, count);
    tsw_get_calibration(&in, &calibration);
}

static void read_frame(const uint8_t *body, size_t count, tsw_err_t *err)
{
    tsw_buf_t in = TSW_BUF_INIT;
    uint32_t type = 0;
    const uint8_t *inner = NULL;
    size_t inner_size = 0, size = 0;
    tsw_buf_append(&in, body, count);
    while (tsw_frame_next(&in, &type, &inner, &inner_size, &size, err) == TSW_OK && size > 0)
        tsw_buf_consume(&in, size);
    tsw_buf_fini(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tsw_err_t err = TSW_ERR_INIT;
    if (size == 0)
        return 0;
    const uint8_t *body = data + 1;
    const size_t count = size - 1;
    switch (data[0]) {
    case 0:
        NEEDS_FINI(build)
    case 1:
        NEEDS_FINI(init)
    case 2:
        NEEDS_FINI(add)
    case 3:
        NEEDS_FINI(round)
    case 4:
        NEEDS_FINI(timed)
    case 5:
        PLAIN(built)
    case 6:
        PLAIN(failed)
    case 7:
        PLAIN(lock)
    case 8:
        PLAIN(begin)
    case 9:
        PLAIN(state)
    case 10:
        PLAIN(hello)
    case 11:
        PLAIN(lease)
    case 12:
        PLAIN(artifacts)
    case 13:
        PLAIN(piece)
    case 14:
        PLAIN(receipt)
    case 15:
        PLAIN(cell_done)
    case 16:
        read_fileset(body, count, &err);
        break;
    case 17:
        read_result(body, count, &err);
        break;
    case 18:
        read_calibration(body, count);
        break;
    case 19:
        read_frame(body, count, &err);
        break;
    default:
        break;
    }
    return 0;
}
