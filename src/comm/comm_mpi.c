/* Many ranks over MPI (MPI-3.1 calls only). Two communicators of our own: frames travel on one,
 * collectives on the other, so that polling for any frame never meets a collective. */
#include "comm/comm_body.h"

#include "base/clock.h"
#include "base/mem.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define CHUNK_BYTES  ((size_t)1 << 30) /* counts of MPI are ints */
#define ARRIVALS_MAX 64                /* receives under way at a time */
#define TESTS_MAX    64                /* sends that one poll looks at */

typedef enum {
    TAG_FRAME = 1, /* a whole frame */
    TAG_LARGE,     /* u64: size of a frame whose pieces follow */
    TAG_PIECE,     /* of it, in order */
    TAG_GATHER,    /* pieces of a gather, on the other communicator */
} tag_t;

/* On the heap, as MPI reads from it until all requests are complete. */
typedef struct {
    tsw_buf_t frame;
    uint64_t size; /* what TAG_LARGE tells */
    int count;     /* of requests */
    MPI_Request requests[];
} departure_t;

typedef struct {
    int from;
    tsw_buf_t frame;
    MPI_Request request; /* MPI_REQUEST_NULL: complete, but for missing pieces */
    size_t missing;
} arrival_t;

typedef struct {
    tsw_comm_t base;
    MPI_Comm frames;
    MPI_Comm collective;
    departure_t **departures;
    size_t departure_count, departure_capacity;
    size_t next_test;    /* of departures */
    arrival_t *arrivals; /* in the order in which they were met */
    size_t arrival_count;
} mpi_comm_t;

static mpi_comm_t *body(tsw_comm_t *comm)
{
    return (mpi_comm_t *)comm;
}

static tsw_status_t check(int rc, const char *call, tsw_err_t *err)
{
    if (rc == MPI_SUCCESS)
        return TSW_OK;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(rc, text, &length);
    return tsw_err_set_vendor(err, TSW_ERR_PEER, rc, "%s: %s", call, text);
}

static size_t piece_of(const mpi_comm_t *mpi, size_t left)
{
    return left < mpi->base.chunk_bytes ? left : mpi->base.chunk_bytes;
}

/* ---- collectives ---- */

#define NAP_FIRST_NS 10000u
#define NAP_LAST_NS  2000000u

/* Longer from call to call. */
static void nap(uint64_t *ns)
{
    tsw_clock_sleep(*ns);
    *ns = *ns < NAP_LAST_NS / 2 ? 2 * *ns : NAP_LAST_NS;
}

/* Until all ranks are here. MPI's own calls wait at full load, and the slowest rank may share a
 * core with those that wait for it: it may read a toolchain, or reduce a sweep for minutes. */
static tsw_status_t meet(mpi_comm_t *mpi, tsw_err_t *err)
{
    MPI_Request barrier = MPI_REQUEST_NULL;
    int done = 0;
    uint64_t nap_ns = NAP_FIRST_NS;
    tsw_status_t status = check(MPI_Ibarrier(mpi->collective, &barrier), "MPI_Ibarrier", err);
    while (status == TSW_OK) {
        status = check(MPI_Test(&barrier, &done, MPI_STATUS_IGNORE), "MPI_Test", err);
        if (done)
            break;
        nap(&nap_ns);
    }
    return status;
}

/* Collective. Whether all are ok. */
static tsw_status_t all_ok(mpi_comm_t *mpi, bool ok, tsw_err_t *err)
{
    int mine = ok;
    int all = 0;
    tsw_status_t status = check(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, mpi->collective),
                                "MPI_Allreduce", err);
    if (status == TSW_OK && !all)
        status = tsw_err_set(err, TSW_ERR_NOMEM, "out of host memory on some rank");
    return status;
}

static tsw_status_t mpi_bcast(tsw_comm_t *comm, tsw_buf_t *bytes, tsw_err_t *err)
{
    mpi_comm_t *mpi = body(comm);
    bool is_root = comm->rank == 0;
    uint64_t size = is_root ? bytes->size : 0;
    tsw_status_t status = meet(mpi, err);
    if (status == TSW_OK)
        status = check(MPI_Bcast(&size, 1, MPI_UINT64_T, 0, mpi->collective), "MPI_Bcast", err);
    if (status != TSW_OK)
        return status;
    tsw_buf_t got = TSW_BUF_INIT;
    uint8_t *data = is_root ? bytes->data : tsw_buf_extend(&got, size);
    status = all_ok(mpi, is_root ? tsw_buf_ok(bytes) : data != NULL, err);
    for (size_t at = 0; at < size && status == TSW_OK;) {
        size_t piece = piece_of(mpi, size - at);
        status =
            check(MPI_Bcast(data + at, (int)piece, MPI_BYTE, 0, mpi->collective), "MPI_Bcast", err);
        at += piece;
    }
    if (status == TSW_OK && !is_root) {
        tsw_buf_fini(bytes);
        *bytes = got;
    } else {
        tsw_buf_fini(&got);
    }
    return status;
}

static tsw_status_t send_pieces(mpi_comm_t *mpi, const tsw_buf_t *bytes, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t at = 0; at < bytes->size && status == TSW_OK;) {
        size_t piece = piece_of(mpi, bytes->size - at);
        status =
            check(MPI_Send(bytes->data + at, (int)piece, MPI_BYTE, 0, TAG_GATHER, mpi->collective),
                  "MPI_Send", err);
        at += piece;
    }
    return status;
}

static tsw_status_t receive_pieces(mpi_comm_t *mpi, int from, tsw_buf_t *bytes, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    for (size_t at = 0; at < bytes->size && status == TSW_OK;) {
        size_t piece = piece_of(mpi, bytes->size - at);
        status = check(MPI_Recv(bytes->data + at, (int)piece, MPI_BYTE, from, TAG_GATHER,
                                mpi->collective, MPI_STATUS_IGNORE),
                       "MPI_Recv", err);
        at += piece;
    }
    return status;
}

/* Rank 0: buffers for what all ranks have. */
static bool make_room(const mpi_comm_t *mpi, const tsw_buf_t *mine, const uint64_t *sizes,
                      tsw_buf_t *room)
{
    bool ok = true;
    for (int r = 0; r < mpi->base.size && ok; r++)
        ok = tsw_buf_extend(&room[r], sizes[r]) != NULL;
    if (ok && mine->size > 0)
        memcpy(room[0].data, mine->data, mine->size);
    return ok;
}

static tsw_status_t mpi_gather(tsw_comm_t *comm, const tsw_buf_t *mine, tsw_buf_t *all,
                               tsw_err_t *err)
{
    mpi_comm_t *mpi = body(comm);
    size_t count = comm->rank == 0 ? (size_t)comm->size : 0;
    uint64_t size = mine->size;
    uint64_t *sizes = tsw_calloc(count, sizeof(*sizes));
    tsw_buf_t *room = tsw_calloc(count, sizeof(*room));
    tsw_status_t status = meet(mpi, err);
    if (status == TSW_OK)
        status = all_ok(mpi, sizes != NULL && room != NULL && tsw_buf_ok(mine), err);
    if (status == TSW_OK)
        status =
            check(MPI_Gather(&size, 1, MPI_UINT64_T, sizes, 1, MPI_UINT64_T, 0, mpi->collective),
                  "MPI_Gather", err);
    if (status == TSW_OK)
        status = all_ok(mpi, comm->rank != 0 || make_room(mpi, mine, sizes, room), err);
    if (status == TSW_OK && comm->rank != 0)
        status = send_pieces(mpi, mine, err);
    for (int r = 1; r < (int)count && status == TSW_OK; r++)
        status = receive_pieces(mpi, r, &room[r], err);
    for (size_t r = 0; r < count && room != NULL; r++) {
        if (status == TSW_OK)
            all[r] = room[r];
        else
            tsw_buf_fini(&room[r]);
    }
    tsw_free(room);
    tsw_free(sizes);
    return status;
}

/* What the others must know of an error. */
typedef struct {
    int code;
    long vendor;
    char text[TSW_ERR_TEXT_MAX];
} verdict_t;

static tsw_status_t mpi_agree(tsw_comm_t *comm, tsw_status_t mine, tsw_err_t *err)
{
    mpi_comm_t *mpi = body(comm);
    int suspect = mine != TSW_OK ? comm->rank : comm->size;
    int first = comm->size;
    tsw_err_t failure = TSW_ERR_INIT;
    tsw_status_t status = meet(mpi, &failure);
    if (status == TSW_OK)
        status = check(MPI_Allreduce(&suspect, &first, 1, MPI_INT, MPI_MIN, mpi->collective),
                       "MPI_Allreduce", &failure);
    verdict_t verdict = {.code = mine};
    if (status == TSW_OK && first == comm->size)
        return TSW_OK;
    if (first == comm->rank) {
        verdict.vendor = err != NULL ? err->vendor : 0;
        const char *text = err != NULL && err->code == mine ? err->text : tsw_status_text(mine);
        snprintf(verdict.text, sizeof(verdict.text), "%s", text);
    }
    if (status == TSW_OK)
        status = check(MPI_Bcast(&verdict.code, 1, MPI_INT, first, mpi->collective), "MPI_Bcast",
                       &failure);
    if (status == TSW_OK)
        status = check(MPI_Bcast(&verdict.vendor, 1, MPI_LONG, first, mpi->collective), "MPI_Bcast",
                       &failure);
    if (status == TSW_OK)
        status =
            check(MPI_Bcast(verdict.text, sizeof(verdict.text), MPI_CHAR, first, mpi->collective),
                  "MPI_Bcast", &failure);
    if (status != TSW_OK) {
        if (err != NULL)
            *err = failure;
        return status;
    }
    return first == 0 ? tsw_err_set_vendor(err, (tsw_status_t)verdict.code, verdict.vendor, "%s",
                                           verdict.text)
                      : tsw_err_set_vendor(err, (tsw_status_t)verdict.code, verdict.vendor,
                                           "rank %d: %s", first, verdict.text);
}

/* ---- frames out ---- */

static void free_departure(departure_t *departure)
{
    tsw_buf_fini(&departure->frame);
    tsw_free(departure);
}

/* Posts the frame: whole, or its size and then its pieces. Synchronous sends are complete when the
 * other side has met them: so what is not pending any more has arrived. */
static tsw_status_t post(mpi_comm_t *mpi, int to, departure_t *departure, tsw_err_t *err)
{
    const tsw_buf_t *frame = &departure->frame;
    bool whole = frame->size <= mpi->base.chunk_bytes;
    tsw_status_t status = TSW_OK;
    if (!whole) {
        status = check(MPI_Issend(&departure->size, 1, MPI_UINT64_T, to, TAG_LARGE, mpi->frames,
                                  &departure->requests[departure->count++]),
                       "MPI_Issend", err);
    }
    size_t at = 0;
    do {
        size_t piece = piece_of(mpi, frame->size - at);
        if (status == TSW_OK)
            status = check(MPI_Issend(frame->data + at, (int)piece, MPI_BYTE, to,
                                      whole ? TAG_FRAME : TAG_PIECE, mpi->frames,
                                      &departure->requests[departure->count++]),
                           "MPI_Issend", err);
        at += piece;
    } while (at < frame->size);
    return status;
}

static tsw_status_t mpi_send(tsw_comm_t *comm, int to, tsw_buf_t *frame, tsw_err_t *err)
{
    mpi_comm_t *mpi = body(comm);
    size_t requests = 2 + frame->size / comm->chunk_bytes;
    if (!TSW_GROW(mpi->departures, mpi->departure_capacity, mpi->departure_count))
        return tsw_err_nomem(err);
    departure_t *departure =
        tsw_calloc(1, sizeof(*departure) + requests * sizeof(departure->requests[0]));
    if (departure == NULL)
        return tsw_err_nomem(err);
    departure->size = frame->size;
    departure->frame = *frame;
    *frame = (tsw_buf_t)TSW_BUF_INIT;
    mpi->departures[mpi->departure_count++] = departure;
    return post(mpi, to, departure, err);
}

/* Looks at some of the sends, another time at others: with thousands under way a look at all would
 * be the whole work of a poll. */
static tsw_status_t progress_sends(mpi_comm_t *mpi, tsw_err_t *err)
{
    size_t tests = mpi->departure_count < TESTS_MAX ? mpi->departure_count : TESTS_MAX;
    for (size_t i = 0; i < tests; i++) {
        if (mpi->next_test >= mpi->departure_count)
            mpi->next_test = 0;
        departure_t **departure = &mpi->departures[mpi->next_test];
        int done = 0;
        tsw_status_t status = check(
            MPI_Testall((*departure)->count, (*departure)->requests, &done, MPI_STATUSES_IGNORE),
            "MPI_Testall", err);
        if (status != TSW_OK)
            return status;
        if (!done) {
            mpi->next_test++;
            continue;
        }
        free_departure(*departure);
        *departure = mpi->departures[--mpi->departure_count];
    }
    return TSW_OK;
}

static bool mpi_sends_pending(tsw_comm_t *comm)
{
    mpi_comm_t *mpi = body(comm);
    progress_sends(mpi, NULL);
    return mpi->departure_count > 0;
}

/* ---- frames in ---- */

/* The frame of that rank whose pieces are still to come. */
static arrival_t *unfinished_from(mpi_comm_t *mpi, int from)
{
    for (size_t i = 0; i < mpi->arrival_count; i++)
        if (mpi->arrivals[i].from == from && mpi->arrivals[i].missing > 0)
            return &mpi->arrivals[i];
    return NULL;
}

static tsw_status_t meet_piece(mpi_comm_t *mpi, int from, int count, MPI_Message *message,
                               tsw_err_t *err)
{
    arrival_t *arrival = unfinished_from(mpi, from);
    if (arrival == NULL || (size_t)count > arrival->missing)
        return tsw_err_set(err, TSW_ERR_CORRUPT, "a piece of %d bytes from rank %d fits no frame",
                           count, from);
    uint8_t *at = arrival->frame.data + arrival->frame.size - arrival->missing;
    arrival->missing -= (size_t)count;
    return check(MPI_Mrecv(at, count, MPI_BYTE, message, MPI_STATUS_IGNORE), "MPI_Mrecv", err);
}

static tsw_status_t meet_frame(mpi_comm_t *mpi, int from, int count, MPI_Message *message,
                               tsw_err_t *err)
{
    arrival_t *arrival = &mpi->arrivals[mpi->arrival_count];
    *arrival = (arrival_t){.from = from, .request = MPI_REQUEST_NULL};
    uint8_t *data = tsw_buf_extend(&arrival->frame, (size_t)count);
    if (data == NULL)
        return tsw_err_nomem(err);
    mpi->arrival_count++;
    return check(MPI_Imrecv(data, count, MPI_BYTE, message, &arrival->request), "MPI_Imrecv", err);
}

static tsw_status_t meet_large(mpi_comm_t *mpi, int from, MPI_Message *message, tsw_err_t *err)
{
    arrival_t *arrival = &mpi->arrivals[mpi->arrival_count];
    uint64_t size = 0;
    tsw_status_t status =
        check(MPI_Mrecv(&size, 1, MPI_UINT64_T, message, MPI_STATUS_IGNORE), "MPI_Mrecv", err);
    if (status != TSW_OK)
        return status;
    *arrival = (arrival_t){.from = from, .request = MPI_REQUEST_NULL, .missing = size};
    if (tsw_buf_extend(&arrival->frame, size) == NULL)
        return tsw_err_nomem(err);
    mpi->arrival_count++;
    return TSW_OK;
}

/* Takes up all messages that have come, as far as there are places. */
static tsw_status_t meet_arrivals(mpi_comm_t *mpi, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    while (status == TSW_OK && mpi->arrival_count < ARRIVALS_MAX) {
        int there = 0;
        int count = 0;
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status envelope;
        status = check(
            MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, mpi->frames, &there, &message, &envelope),
            "MPI_Improbe", err);
        if (status != TSW_OK || !there)
            break;
        MPI_Get_count(&envelope, MPI_BYTE, &count);
        if (envelope.MPI_TAG == TAG_LARGE)
            status = meet_large(mpi, envelope.MPI_SOURCE, &message, err);
        else if (envelope.MPI_TAG == TAG_PIECE)
            status = meet_piece(mpi, envelope.MPI_SOURCE, count, &message, err);
        else
            status = meet_frame(mpi, envelope.MPI_SOURCE, count, &message, err);
    }
    return status;
}

static bool has_earlier(const mpi_comm_t *mpi, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (mpi->arrivals[k].from == mpi->arrivals[i].from)
            return true;
    return false;
}

/* The first whole frame; those of one rank in the order in which it sent them. */
static bool take_arrival(mpi_comm_t *mpi, int *from_p, tsw_buf_t *frame_p, tsw_status_t *status_p,
                         tsw_err_t *err)
{
    for (size_t i = 0; i < mpi->arrival_count; i++) {
        arrival_t *arrival = &mpi->arrivals[i];
        int done = 0;
        *status_p = check(MPI_Test(&arrival->request, &done, MPI_STATUS_IGNORE), "MPI_Test", err);
        if (*status_p != TSW_OK)
            return false;
        if (!done || arrival->missing > 0 || has_earlier(mpi, i))
            continue;
        *from_p = arrival->from;
        *frame_p = arrival->frame;
        mpi->arrival_count--;
        memmove(arrival, arrival + 1, (mpi->arrival_count - i) * sizeof(*arrival));
        return true;
    }
    return false;
}

static bool mpi_poll(tsw_comm_t *comm, int *from_p, tsw_buf_t *frame_p, tsw_status_t *status_p,
                     tsw_err_t *err)
{
    mpi_comm_t *mpi = body(comm);
    *status_p = progress_sends(mpi, err);
    if (*status_p == TSW_OK)
        *status_p = meet_arrivals(mpi, err);
    return *status_p == TSW_OK && take_arrival(mpi, from_p, frame_p, status_p, err);
}

/* ---- life ---- */

static bool discard_frame(mpi_comm_t *mpi)
{
    int from = 0;
    tsw_buf_t frame = TSW_BUF_INIT;
    tsw_status_t status = TSW_OK;
    mpi_poll(&mpi->base, &from, &frame, &status, NULL);
    tsw_buf_fini(&frame);
    return status == TSW_OK;
}

/* Nothing may be under way at MPI_Finalize. A rank enters the barrier once all it sent has been
 * received; it goes on receiving until all have entered: then nothing is left to receive. */
static void settle(mpi_comm_t *mpi)
{
    bool ok = true;
    while (ok && mpi_sends_pending(&mpi->base))
        ok = discard_frame(mpi);
    MPI_Request barrier = MPI_REQUEST_NULL;
    int done = 0;
    uint64_t nap_ns = NAP_FIRST_NS;
    ok = ok && MPI_Ibarrier(mpi->collective, &barrier) == MPI_SUCCESS;
    while (ok && !done) {
        ok = discard_frame(mpi) && MPI_Test(&barrier, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS;
        if (!done)
            nap(&nap_ns);
    }
    while (ok && mpi->arrival_count > 0)
        ok = discard_frame(mpi);
}

static void free_body(mpi_comm_t *mpi)
{
    for (size_t i = 0; i < mpi->departure_count; i++)
        free_departure(mpi->departures[i]);
    for (size_t i = 0; i < mpi->arrival_count; i++)
        tsw_buf_fini(&mpi->arrivals[i].frame);
    tsw_free(mpi->departures);
    tsw_free(mpi->arrivals);
    tsw_free(mpi);
}

static void mpi_close(tsw_comm_t *comm)
{
    mpi_comm_t *mpi = body(comm);
    settle(mpi);
    MPI_Comm_free(&mpi->frames);
    MPI_Comm_free(&mpi->collective);
    free_body(mpi);
    MPI_Finalize();
}

static void mpi_abort(tsw_comm_t *comm, int exit_code)
{
    MPI_Abort(body(comm)->collective, exit_code);
}

static const tsw_comm_ops_t mpi_ops = {
    .close = mpi_close,
    .abort = mpi_abort,
    .bcast = mpi_bcast,
    .gather = mpi_gather,
    .agree = mpi_agree,
    .send = mpi_send,
    .poll = mpi_poll,
    .sends_pending = mpi_sends_pending,
};

static tsw_status_t duplicate_world(MPI_Comm *comm_p, tsw_err_t *err)
{
    tsw_status_t status = check(MPI_Comm_dup(MPI_COMM_WORLD, comm_p), "MPI_Comm_dup", err);
    if (status == TSW_OK)
        status = check(MPI_Comm_set_errhandler(*comm_p, MPI_ERRORS_RETURN),
                       "MPI_Comm_set_errhandler", err);
    return status;
}

static tsw_status_t find_node_rank(mpi_comm_t *mpi, tsw_err_t *err)
{
    MPI_Comm machine = MPI_COMM_NULL;
    tsw_status_t status = check(MPI_Comm_split_type(mpi->collective, MPI_COMM_TYPE_SHARED,
                                                    mpi->base.rank, MPI_INFO_NULL, &machine),
                                "MPI_Comm_split_type", err);
    if (status != TSW_OK)
        return status;
    MPI_Comm_rank(machine, &mpi->base.node_rank);
    MPI_Comm_free(&machine);
    return TSW_OK;
}

static tsw_status_t set_up(mpi_comm_t *mpi, tsw_err_t *err)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    tsw_status_t status = duplicate_world(&mpi->frames, err);
    if (status == TSW_OK)
        status = duplicate_world(&mpi->collective, err);
    if (status != TSW_OK)
        return status;
    MPI_Comm_rank(mpi->collective, &mpi->base.rank);
    MPI_Comm_size(mpi->collective, &mpi->base.size);
    return find_node_rank(mpi, err);
}

void tsw_comm_mpi_library(char out[96])
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0'; /* the rest tells who packaged it */
    snprintf(out, 96, "%.95s", text);
}

tsw_status_t tsw_comm_mpi_open(tsw_comm_t **comm_p, tsw_err_t *err)
{
    mpi_comm_t *mpi = tsw_calloc(1, sizeof(*mpi));
    arrival_t *arrivals = tsw_calloc(ARRIVALS_MAX, sizeof(*arrivals));
    if (mpi == NULL || arrivals == NULL) {
        tsw_free(mpi);
        tsw_free(arrivals);
        return tsw_err_nomem(err);
    }
    *mpi = (mpi_comm_t){.base = {.ops = &mpi_ops, .chunk_bytes = CHUNK_BYTES},
                        .frames = MPI_COMM_NULL,
                        .collective = MPI_COMM_NULL,
                        .arrivals = arrivals};
    int provided = 0;
    tsw_status_t status =
        check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread", err);
    if (status == TSW_OK)
        status = set_up(mpi, err);
    if (status == TSW_OK)
        *comm_p = &mpi->base;
    else
        free_body(mpi); /* MPI itself is beyond repair: the caller ends the process */
    return status;
}
