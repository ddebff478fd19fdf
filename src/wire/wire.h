/* Frames between processes and ranks: a fixed header and a packed little-endian body. */
#ifndef TSW_WIRE_WIRE_H
#define TSW_WIRE_WIRE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/fileset.h"
#include "base/hash.h"
#include "record/calibration.h"

#include <stdbool.h>
#include <stdint.h>

#define TSW_FRAME_MAGIC       0x31575354u /* "TSW1" */
#define TSW_FRAME_HEADER_SIZE 24          /* magic u32, type u32, protocol u64, length u64 */
#define TSW_FRAME_MAX_BYTES   (1ull << 32)

/* Writing never fails by itself: check tsw_buf_ok(&buf) once. */
void tsw_put_u8(tsw_buf_t *out, uint8_t value);
void tsw_put_u32(tsw_buf_t *out, uint32_t value);
void tsw_put_u64(tsw_buf_t *out, uint64_t value);
void tsw_put_i64(tsw_buf_t *out, int64_t value);
void tsw_put_f64(tsw_buf_t *out, double value);
void tsw_put_bytes(tsw_buf_t *out, const void *bytes, size_t size); /* length, then bytes */
void tsw_put_text(tsw_buf_t *out, const char *text);
void tsw_put_key(tsw_buf_t *out, tsw_key_t key);
void tsw_put_fileset(tsw_buf_t *out, const tsw_fileset_t *set);

/* Reading past the end or beyond a limit sets failed and yields zeros; check once at the end with
 * tsw_reader_done(): all read, nothing left, nothing failed. */
typedef struct {
    const uint8_t *data;
    size_t size;
    size_t at;
    bool failed;
    bool nomem; /* failed for want of host memory, not because of the bytes */
} tsw_reader_t;

tsw_reader_t tsw_reader(const void *bytes, size_t size);
uint8_t tsw_get_u8(tsw_reader_t *in);
bool tsw_get_bool(tsw_reader_t *in); /* a u8 */
uint32_t tsw_get_u32(tsw_reader_t *in);
uint64_t tsw_get_u64(tsw_reader_t *in);
int64_t tsw_get_i64(tsw_reader_t *in);
double tsw_get_f64(tsw_reader_t *in);
const void *tsw_get_bytes(tsw_reader_t *in, size_t *size_p); /* borrowed from the reader's data */
char *tsw_get_text(tsw_reader_t *in);                        /* heap; NULL on failure */
/* Text of at most size - 1 bytes; "" on failure. Text with a zero inside fails, here and above. */
void tsw_get_text_into(tsw_reader_t *in, char *out, size_t size);
tsw_key_t tsw_get_key(tsw_reader_t *in);
tsw_status_t tsw_get_fileset(tsw_reader_t *in, tsw_fileset_t *out, tsw_err_t *err);
/* A count that must leave at least min_bytes per item in the frame; else failed and 0. */
size_t tsw_get_count(tsw_reader_t *in, size_t min_bytes);
bool tsw_reader_done(const tsw_reader_t *in);
/* What a failed reader means: TSW_OK when it has not failed, TSW_ERR_NOMEM, or TSW_ERR_CORRUPT
 * with "what: ..." as its text. */
tsw_status_t tsw_reader_check(const tsw_reader_t *in, const char *what, tsw_err_t *err);

/* TSW_OK when the reader took all of its body, else TSW_ERR_CORRUPT naming the message, or
 * TSW_ERR_NOMEM. */
tsw_status_t tsw_msg_done(const tsw_reader_t *in, const char *what, tsw_err_t *err);

/* Append a whole frame to out. A failed body, or one beyond TSW_FRAME_MAX_BYTES, fails out. */
void tsw_frame_put(tsw_buf_t *out, uint32_t type, const tsw_buf_t *body);
/* Look for a whole frame at the start of in. TSW_OK with *size_p == 0: not there yet.
 * TSW_ERR_CORRUPT: magic or length is off; TSW_ERR_VERSION: another build of the tool. body is
 * borrowed from in; consume *size_p bytes afterwards. */
tsw_status_t tsw_frame_next(const tsw_buf_t *in, uint32_t *type_p, const uint8_t **body_p,
                            size_t *body_size_p, size_t *size_p, tsw_err_t *err);

/* Results, for messages between processes; what `get` cannot take fails the reader. Heap in a
 * cell's result: the caller's, tsw_cell_result_fini. TSW_ERR_CORRUPT, TSW_ERR_NOMEM. */
void tsw_put_cell_result(tsw_buf_t *out, const tsw_cell_result_t *result);
tsw_status_t tsw_get_cell_result(tsw_reader_t *in, tsw_cell_result_t *result, tsw_err_t *err);
tsw_outcome_t tsw_get_outcome(tsw_reader_t *in); /* a u32 */
void tsw_put_build_facts(tsw_buf_t *out, const tsw_build_facts_t *facts);
void tsw_get_build_facts(tsw_reader_t *in, tsw_build_facts_t *facts);
void tsw_put_verify_facts(tsw_buf_t *out, const tsw_verify_facts_t *verify);
void tsw_get_verify_facts(tsw_reader_t *in, tsw_verify_facts_t *verify);
void tsw_put_sample(tsw_buf_t *out, const tsw_sample_t *sample);
tsw_sample_t tsw_get_sample(tsw_reader_t *in);
void tsw_put_round(tsw_buf_t *out, const tsw_round_t *round);
tsw_round_t tsw_get_round(tsw_reader_t *in);
void tsw_put_calibration(tsw_buf_t *out, const tsw_calibration_t *calibration);
void tsw_get_calibration(tsw_reader_t *in, tsw_calibration_t *calibration);
void tsw_put_usage(tsw_buf_t *out, const tsw_usage_t *usage);
void tsw_get_usage(tsw_reader_t *in, tsw_usage_t *usage);
void tsw_put_gpu(tsw_buf_t *out, const tsw_gpu_t *gpu);
void tsw_get_gpu(tsw_reader_t *in, tsw_gpu_t *gpu);

#endif
