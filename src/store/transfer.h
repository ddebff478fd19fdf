/* Segments on their way from folders of one node into the run folder, which only rank 0 may reach:
 * in pieces, each with a checksum; a file is sealed into its place when all of it has come and its
 * own seal fits. A file leaves the node's folder only after that. All calls are local.
 *
 * Names of segments are "aNNNN-rNNNN/NNNNNN.h5", below parts/ on both sides. */
#ifndef TSW_STORE_TRANSFER_H
#define TSW_STORE_TRANSFER_H

#include "base/err.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TSW_SEGMENT_NAME_SIZE 48
#define TSW_PIECE_BYTES       ((size_t)256 << 10) /* of one piece at most */

typedef struct {
    const char *name;
    uint64_t size; /* of the whole file */
    uint64_t offset;
    const void *bytes; /* borrowed */
    size_t count;
    tsw_key_t key; /* of these bytes */
} tsw_piece_t;

/* "aNNNN-rNNNN/NNNNNN.h5" and nothing that leads elsewhere. */
bool tsw_segment_is_name(const char *name);

/* ---- the side that receives ---- */

/* Takes one piece. *next_p: the offset of the piece that is wanted next, the size when the file is
 * in its place (also when it was there before). An offset that is not beyond the piece's: it, or
 * the whole file, came damaged and must come again. TSW_ERR_CORRUPT: no name of a segment;
 * TSW_ERR_FULL, TSW_ERR_IO. */
tsw_status_t tsw_store_take_piece(const char *run_dir, const tsw_piece_t *piece, uint64_t *next_p,
                                  tsw_err_t *err);

/* ---- the side that sends ---- */

typedef struct tsw_outbox tsw_outbox_t;

/* dir: the node's folder for this run. It holds one file in memory at a time. TSW_ERR_NOMEM. */
tsw_status_t tsw_outbox_open(const char *dir, tsw_outbox_t **outbox_p, tsw_err_t *err);
/* Leaves the files that were not sent where they are, and removes folders that are empty. NULL is
 * fine. */
void tsw_outbox_close(tsw_outbox_t *outbox);
/* Queues a segment, and all that earlier attempts left in the folder: strangers there are named in
 * the log and left. */
tsw_status_t tsw_outbox_add(tsw_outbox_t *outbox, uint32_t attempt, int rank, uint32_t number,
                            tsw_err_t *err);
tsw_status_t tsw_outbox_add_leftovers(tsw_outbox_t *outbox, tsw_err_t *err);
bool tsw_outbox_is_empty(const tsw_outbox_t *outbox);
/* The piece to send now: true, borrowed until the next call. False: nothing is queued, or the
 * receipt of the last piece is still awaited. Files that are torn are named in the log and left. */
bool tsw_outbox_next(tsw_outbox_t *outbox, tsw_piece_t *piece_p);
/* The answer to the last piece: next as above. A file that arrived is removed here. TSW_ERR_IO: the
 * same piece came damaged too often; TSW_ERR_CORRUPT: an answer to nothing. */
tsw_status_t tsw_outbox_receipt(tsw_outbox_t *outbox, const char *name, uint64_t next,
                                tsw_err_t *err);

#endif
