#include "wire/child_msg.h"

#include "wire/wire.h"

void tsw_put_msg_failed(tsw_buf_t *out, tsw_status_t status, const char *text)
{
    tsw_put_i64(out, status);
    tsw_put_text(out, text);
}

tsw_status_t tsw_get_msg_failed(const void *body, size_t size, tsw_msg_failed_t *msg_p,
                                tsw_err_t *err)
{
    tsw_reader_t in = tsw_reader(body, size);
    int64_t value = tsw_get_i64(&in);
    if (value >= 0 || value < TSW_ERR_DEVICE_UNFIT)
        in.failed = true;
    msg_p->status = (tsw_status_t)value;
    tsw_get_text_into(&in, msg_p->text, sizeof(msg_p->text));
    return tsw_msg_done(&in, "failed", err);
}
