/* Frames over MPI, out and in: never blocking, larger ones in pieces. */
#include "base/clock.h"
#include "base/mem.h"
#include "comm/mpi_body.h"

#include <string.h>

#define ARRIVALS_MAX 64 /* receives under way at a time */
#define TESTS_MAX    64 /* sends that one poll looks at */

enum {
    TAG_FRAME = 1, /* a whole frame */
    TAG_LARGE,     /* u64: size of a frame whose pieces follow */
    TAG_PIECE,     /* of it, in order */
};

/* On the heap, as MPI reads from it until all requests are complete. */
struct tsw_mpi_departure {
    tsw_buf_t frame;
    uint64_t size; /* what TAG_LARGE tells */
    int count;     /* of requests */
    MPI_Request requests[];
};

struct tsw_mpi_arrival {
    int from;
    tsw_buf_t frame;
    MPI_Request request; /* MPI_REQUEST_NULL: complete, but for missing pieces */
    size_t missing;
};

/* ---- out ---- */

static void free_departure(tsw_mpi_departure_t *departure)
{
    tsw_buf_fini(&departure->frame);
    tsw_free(departure);
}

/* Posts the frame: whole, or its size and then its pieces. Synchronous sends are complete when the
 * other side has met them: so what is not pending any more has arrived. */
static tsw_status_t post(tsw_mpi_comm_t *mpi, int to, tsw_mpi_departure_t *departure,
                         tsw_err_t *err)
{
    const tsw_buf_t *frame = &departure->frame;
    bool whole = frame->size <= mpi->base.chunk_bytes;
    tsw_status_t status = TSW_OK;
    if (!whole) {
        status = tsw_mpi_check(MPI_Issend(&departure->size, 1, MPI_UINT64_T, to, TAG_LARGE,
                                          mpi->frames, &departure->requests[departure->count++]),
                               "MPI_Issend", err);
    }
    size_t at = 0;
    do {
        size_t piece = tsw_mpi_piece(mpi, frame->size - at);
        if (status == TSW_OK)
            status = tsw_mpi_check(MPI_Issend(frame->data + at, (int)piece, MPI_BYTE, to,
                                              whole ? TAG_FRAME : TAG_PIECE, mpi->frames,
                                              &departure->requests[departure->count++]),
                                   "MPI_Issend", err);
        at += piece;
    } while (at < frame->size);
    return status;
}

tsw_status_t tsw_mpi_send(tsw_comm_t *comm, int to, tsw_buf_t *frame, tsw_err_t *err)
{
    tsw_mpi_comm_t *mpi = tsw_mpi_body(comm);
    size_t requests = 2 + frame->size / comm->chunk_bytes;
    if (!TSW_GROW(mpi->departures, mpi->departure_capacity, mpi->departure_count))
        return tsw_err_nomem(err);
    tsw_mpi_departure_t *departure =
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
static tsw_status_t progress_sends(tsw_mpi_comm_t *mpi, tsw_err_t *err)
{
    size_t tests = mpi->departure_count < TESTS_MAX ? mpi->departure_count : TESTS_MAX;
    for (size_t i = 0; i < tests; i++) {
        if (mpi->next_test >= mpi->departure_count)
            mpi->next_test = 0;
        tsw_mpi_departure_t **departure = &mpi->departures[mpi->next_test];
        int done = 0;
        tsw_status_t status = tsw_mpi_check(
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

bool tsw_mpi_sends_pending(tsw_comm_t *comm)
{
    tsw_mpi_comm_t *mpi = tsw_mpi_body(comm);
    progress_sends(mpi, NULL);
    return mpi->departure_count > 0;
}

/* ---- in ---- */

/* The frame of that rank whose pieces are still to come. */
static tsw_mpi_arrival_t *unfinished_from(tsw_mpi_comm_t *mpi, int from)
{
    for (size_t i = 0; i < mpi->arrival_count; i++)
        if (mpi->arrivals[i].from == from && mpi->arrivals[i].missing > 0)
            return &mpi->arrivals[i];
    return NULL;
}

static tsw_status_t meet_piece(tsw_mpi_comm_t *mpi, int from, int count, MPI_Message *message,
                               tsw_err_t *err)
{
    tsw_mpi_arrival_t *arrival = unfinished_from(mpi, from);
    if (arrival == NULL || (size_t)count > arrival->missing)
        return tsw_err_set(err, TSW_ERR_CORRUPT, "a piece of %d bytes from rank %d fits no frame",
                           count, from);
    uint8_t *at = arrival->frame.data + arrival->frame.size - arrival->missing;
    arrival->missing -= (size_t)count;
    return tsw_mpi_check(MPI_Mrecv(at, count, MPI_BYTE, message, MPI_STATUS_IGNORE), "MPI_Mrecv",
                         err);
}

static tsw_status_t meet_frame(tsw_mpi_comm_t *mpi, int from, int count, MPI_Message *message,
                               tsw_err_t *err)
{
    tsw_mpi_arrival_t *arrival = &mpi->arrivals[mpi->arrival_count];
    *arrival = (tsw_mpi_arrival_t){.from = from, .request = MPI_REQUEST_NULL};
    uint8_t *data = tsw_buf_extend(&arrival->frame, (size_t)count);
    if (data == NULL)
        return tsw_err_nomem(err);
    mpi->arrival_count++;
    return tsw_mpi_check(MPI_Imrecv(data, count, MPI_BYTE, message, &arrival->request),
                         "MPI_Imrecv", err);
}

static tsw_status_t meet_large(tsw_mpi_comm_t *mpi, int from, MPI_Message *message, tsw_err_t *err)
{
    tsw_mpi_arrival_t *arrival = &mpi->arrivals[mpi->arrival_count];
    uint64_t size = 0;
    tsw_status_t status = tsw_mpi_check(
        MPI_Mrecv(&size, 1, MPI_UINT64_T, message, MPI_STATUS_IGNORE), "MPI_Mrecv", err);
    if (status != TSW_OK)
        return status;
    *arrival = (tsw_mpi_arrival_t){.from = from, .request = MPI_REQUEST_NULL, .missing = size};
    if (tsw_buf_extend(&arrival->frame, size) == NULL)
        return tsw_err_nomem(err);
    mpi->arrival_count++;
    return TSW_OK;
}

/* Takes up all messages that have come, as far as there are places. */
static tsw_status_t meet_arrivals(tsw_mpi_comm_t *mpi, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    while (status == TSW_OK && mpi->arrival_count < ARRIVALS_MAX) {
        int there = 0;
        int count = 0;
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status envelope;
        status = tsw_mpi_check(
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

static bool has_earlier(const tsw_mpi_comm_t *mpi, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (mpi->arrivals[k].from == mpi->arrivals[i].from)
            return true;
    return false;
}

/* The first whole frame; those of one rank in the order in which it sent them. */
static bool take_arrival(tsw_mpi_comm_t *mpi, int *from_p, tsw_buf_t *frame_p,
                         tsw_status_t *status_p, tsw_err_t *err)
{
    for (size_t i = 0; i < mpi->arrival_count; i++) {
        tsw_mpi_arrival_t *arrival = &mpi->arrivals[i];
        int done = 0;
        *status_p =
            tsw_mpi_check(MPI_Test(&arrival->request, &done, MPI_STATUS_IGNORE), "MPI_Test", err);
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

bool tsw_mpi_poll(tsw_comm_t *comm, int *from_p, tsw_buf_t *frame_p, tsw_status_t *status_p,
                  tsw_err_t *err)
{
    tsw_mpi_comm_t *mpi = tsw_mpi_body(comm);
    *status_p = progress_sends(mpi, err);
    if (*status_p == TSW_OK)
        *status_p = meet_arrivals(mpi, err);
    return *status_p == TSW_OK && take_arrival(mpi, from_p, frame_p, status_p, err);
}

/* ---- life ---- */

tsw_status_t tsw_mpi_frames_init(tsw_mpi_comm_t *mpi, tsw_err_t *err)
{
    mpi->arrivals = tsw_calloc(ARRIVALS_MAX, sizeof(*mpi->arrivals));
    return mpi->arrivals != NULL ? TSW_OK : tsw_err_nomem(err);
}

void tsw_mpi_frames_fini(tsw_mpi_comm_t *mpi)
{
    for (size_t i = 0; i < mpi->departure_count; i++)
        free_departure(mpi->departures[i]);
    for (size_t i = 0; i < mpi->arrival_count; i++)
        tsw_buf_fini(&mpi->arrivals[i].frame);
    tsw_free(mpi->departures);
    tsw_free(mpi->arrivals);
}

static bool discard_frame(tsw_mpi_comm_t *mpi)
{
    int from = 0;
    tsw_buf_t frame = TSW_BUF_INIT;
    tsw_status_t status = TSW_OK;
    tsw_mpi_poll(&mpi->base, &from, &frame, &status, NULL);
    tsw_buf_fini(&frame);
    return status == TSW_OK;
}

void tsw_mpi_settle(tsw_mpi_comm_t *mpi)
{
    bool ok = true;
    while (ok && tsw_mpi_sends_pending(&mpi->base))
        ok = discard_frame(mpi);
    MPI_Request barrier = MPI_REQUEST_NULL;
    int done = 0;
    uint64_t nap_ns = TSW_MPI_NAP_FIRST_NS;
    ok = ok && MPI_Ibarrier(mpi->collective, &barrier) == MPI_SUCCESS;
    while (ok && !done) {
        ok = discard_frame(mpi) && MPI_Test(&barrier, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS;
        if (!done)
            tsw_clock_nap(&nap_ns, TSW_MPI_NAP_LAST_NS);
    }
    while (ok && mpi->arrival_count > 0)
        ok = discard_frame(mpi);
}
