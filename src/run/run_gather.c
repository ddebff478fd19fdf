/* Results that are sealed in a folder of the node and gathered by rank 0, piece by piece: each rank
 * has one piece under way, and rank 0 writes each as it comes, so memory stays bounded on both
 * sides. What a lost node costs is what it has sealed and not yet sent. */
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/run_state.h"

#include <stdio.h>
#include <string.h>

#define WAIT_NS 1000000 /* between two looks for messages, before the loop runs */

/* ---- the folder ---- */

#define ID_SIZE 16

static bool is_id(const tsw_buf_t *id)
{
    return id->size == ID_SIZE && strspn(tsw_buf_text(id), "0123456789abcdef") == id->size;
}

static tsw_status_t make_id(const char *run_dir, const char *path, tsw_buf_t *id, tsw_err_t *err)
{
    char text[TSW_KEY_TEXT_SIZE];
    char node[TSW_NAME_SIZE];
    tsw_buf_t seed = TSW_BUF_INIT;
    tsw_node_name(node, sizeof(node));
    tsw_buf_printf(&seed, "%s %llu %s", node, (unsigned long long)tsw_clock_wall_ns(), run_dir);
    tsw_key_format(tsw_key_of(seed.data, seed.size), text);
    tsw_buf_append(id, text, ID_SIZE);
    tsw_buf_fini(&seed);
    return tsw_file_write_atomic(path, id->data, id->size, err);
}

/* A name for the run that folders of nodes can have: made once, kept in RUN/id. */
static tsw_status_t name_run(const char *run_dir, tsw_buf_t *id, tsw_err_t *err)
{
    char *path = tsw_path_join(run_dir, "id");
    tsw_status_t status = path != NULL ? tsw_dir_make(run_dir, err) : tsw_err_nomem(err);
    bool there = status == TSW_OK && tsw_path_exists(path);
    if (there)
        status = tsw_file_read(path, id, err);
    if (status == TSW_OK && there && !is_id(id)) {
        tsw_log_root(TSW_LOG_WARN,
                     "%s is damaged and made anew: what earlier attempts left on nodes stays there",
                     path);
        tsw_buf_clear(id);
        there = false;
    }
    if (status == TSW_OK && !there)
        status = make_id(run_dir, path, id, err);
    tsw_free(path);
    return status;
}

tsw_status_t tsw_run_open_local(tsw_run_t *run, tsw_err_t *err)
{
    tsw_buf_t id = TSW_BUF_INIT;
    tsw_buf_t dir = TSW_BUF_INIT;
    const char *local = run->options->local_dir;
    tsw_status_t status = TSW_OK;
    if (run->rank == 0 && local != NULL)
        status = name_run(run->options->run_dir, &id, err);
    tsw_status_t shared = tsw_comm_bcast(run->comm, &id, status == TSW_OK ? err : NULL);
    status = status == TSW_OK ? shared : status;
    if (status == TSW_OK && local != NULL && is_id(&id)) {
        tsw_buf_printf(&dir, "%s/tilesweep-%s", local, tsw_buf_text(&id));
        run->local_dir = tsw_buf_take_text(&dir);
        status = run->local_dir != NULL ? tsw_outbox_open(run->local_dir, &run->outbox, err)
                                        : tsw_err_nomem(err);
        /* One rank of each node sends what is left there, whose ever it was. */
        if (status == TSW_OK && tsw_comm_node_rank(run->comm) == 0)
            status = tsw_outbox_add_leftovers(run->outbox, err);
    }
    tsw_buf_fini(&id);
    return status;
}

/* ---- pieces ---- */

static void send_piece(tsw_run_t *run, const tsw_piece_t *piece)
{
    tsw_msg_piece_t msg = {.size = piece->size,
                           .offset = piece->offset,
                           .key = piece->key,
                           .bytes = piece->bytes,
                           .count = piece->count};
    tsw_buf_t body = TSW_BUF_INIT;
    snprintf(msg.name, sizeof(msg.name), "%s", piece->name);
    tsw_put_msg_piece(&body, &msg);
    tsw_run_send(run, 0, TSW_RANK_PIECE, &body);
}

static void send_next(tsw_run_t *run)
{
    tsw_piece_t piece;
    if (!run->outbox_refused && tsw_outbox_next(run->outbox, &piece))
        send_piece(run, &piece);
}

void tsw_run_gather_pump(tsw_run_t *run)
{
    tsw_err_t err = TSW_ERR_INIT;
    tsw_status_t status = TSW_OK;
    if (run->outbox == NULL || run->broken)
        return;
    uint32_t sealed = tsw_segments_sealed(run->segments);
    while (status == TSW_OK && run->outbox_number < sealed)
        status = tsw_outbox_add(run->outbox, run->attempt, run->rank, ++run->outbox_number, &err);
    if (status == TSW_OK)
        send_next(run);
    else
        tsw_run_fail(run, status, &err);
}

bool tsw_run_gather_done(const tsw_run_t *run)
{
    return run->outbox == NULL || run->outbox_refused || tsw_outbox_is_empty(run->outbox);
}

static tsw_status_t take_piece(tsw_run_t *run, int from, const uint8_t *body, size_t size,
                               bool refuse, tsw_err_t *err)
{
    tsw_msg_piece_t msg;
    tsw_msg_receipt_t receipt = {.refused = refuse};
    tsw_err_t why = TSW_ERR_INIT;
    tsw_status_t status = tsw_get_msg_piece(body, size, &msg, err);
    if (status != TSW_OK)
        return status;
    tsw_piece_t piece = {.name = msg.name,
                         .size = msg.size,
                         .offset = msg.offset,
                         .bytes = msg.bytes,
                         .count = msg.count,
                         .key = msg.key};
    if (!refuse)
        status = tsw_store_take_piece(run->options->run_dir, &piece, &receipt.next, &why);
    if (status != TSW_OK) {
        receipt.refused = true;
        tsw_run_fail(run, status, &why);
    }
    tsw_buf_t out = TSW_BUF_INIT;
    memcpy(receipt.name, msg.name, sizeof(receipt.name));
    tsw_put_msg_receipt(&out, &receipt);
    tsw_run_send(run, from, TSW_RANK_RECEIPT, &out);
    return TSW_OK;
}

/* Rank 0: what cannot be written stops the run, and stays with those who have it. */
tsw_status_t tsw_run_gather_piece(tsw_run_t *run, int from, const uint8_t *body, size_t size,
                                  tsw_err_t *err)
{
    return take_piece(run, from, body, size, false, err);
}

tsw_status_t tsw_run_gather_receipt(tsw_run_t *run, const uint8_t *body, size_t size,
                                    tsw_err_t *err)
{
    tsw_msg_receipt_t receipt;
    tsw_err_t why = TSW_ERR_INIT;
    tsw_status_t status = tsw_get_msg_receipt(body, size, &receipt, err);
    if (status != TSW_OK || run->outbox == NULL)
        return status;
    if (receipt.refused) {
        tsw_log(TSW_LOG_WARN, "rank 0 takes no more: results stay in %s", run->local_dir);
        run->outbox_refused = true;
        return TSW_OK;
    }
    status = tsw_outbox_receipt(run->outbox, receipt.name, receipt.next, &why);
    if (status == TSW_OK) {
        send_next(run);
    } else {
        run->outbox_refused = true;
        tsw_run_fail(run, status, &why);
    }
    return TSW_OK;
}

/* ---- leftovers: before any work, and before rank 0 looks at what is done ---- */

/* Rank 0 counts those that are through. */
static tsw_status_t take_leftover(tsw_run_t *run, int from, const tsw_buf_t *frame, int *through,
                                  tsw_err_t *err)
{
    uint32_t type = 0;
    const uint8_t *body = NULL;
    size_t body_size = 0, size = 0;
    tsw_status_t status = tsw_frame_next(frame, &type, &body, &body_size, &size, err);
    if (status != TSW_OK)
        return status;
    if (type == TSW_RANK_GATHERED)
        (*through)++;
    else if (type == TSW_RANK_PIECE)
        status = take_piece(run, from, body, body_size, tsw_run_drain_requested(), err);
    else if (type == TSW_RANK_RECEIPT)
        status = tsw_run_gather_receipt(run, body, body_size, err);
    else
        status = tsw_err_set(err, TSW_ERR_BUG, "message %u before work", type);
    return status;
}

static tsw_status_t poll_leftover(tsw_run_t *run, int *through, tsw_err_t *err)
{
    int from = -1;
    tsw_buf_t frame = TSW_BUF_INIT;
    tsw_status_t status = TSW_OK;
    if (!tsw_comm_poll(run->comm, &from, &frame, &status, err)) {
        tsw_clock_sleep(WAIT_NS);
        return status;
    }
    status = take_leftover(run, from, &frame, through, err);
    tsw_buf_fini(&frame);
    return status;
}

tsw_status_t tsw_run_gather_leftovers(tsw_run_t *run, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    int through = 0;
    if (run->outbox != NULL)
        send_next(run);
    while (status == TSW_OK && !tsw_run_gather_done(run) && !tsw_run_drain_requested())
        status = poll_leftover(run, &through, err);
    if (status == TSW_OK)
        tsw_run_send_empty(run, 0, TSW_RANK_GATHERED);
    while (status == TSW_OK && !run->broken &&
           (tsw_comm_sends_pending(run->comm) || (run->rank == 0 && through < run->size)))
        status = poll_leftover(run, &through, err);
    if (status == TSW_OK && run->status != TSW_OK) {
        *err = run->err;
        status = run->status;
    }
    if (status != TSW_OK && (run->broken || run->status == TSW_OK))
        tsw_run_abort(run->comm, status); /* the others wait for messages */
    if (run->rank == 0) {                 /* it writes into the run folder itself */
        tsw_outbox_close(run->outbox);
        run->outbox = NULL;
    }
    return status;
}
