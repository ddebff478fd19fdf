#include "device/nvml_sampler.h"

#include "base/clock.h"
#include "base/mem.h"
#include "device/nvml_readings.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

/* NVML's own values change every 20 to 100 ms. */
static const uint64_t period_ns = 20000000, health_period_ns = 250000000;
/* A look costs some ms of the driver's time: it rests at least so many times as long. */
static const uint64_t rest_times = 4;
static const uint64_t patience_ns = 5000000000;

struct tsw_nvml_sampler {
    tsw_nvml_t *nvml; /* the thread's */
    pthread_t thread;
    pthread_mutex_t lock; /* of all below; never held during a call of NVML */
    pthread_cond_t wish;  /* is_ending or asked changed */
    pthread_cond_t reply; /* answered changed */
    bool is_ending;
    uint64_t asked, answered; /* looks at the health that somebody waits for */
    tsw_nvml_readings_t readings;
    tsw_health_t health; /* since it was taken */
};

/* ---- the thread ---- */

static void read_telemetry(tsw_nvml_sampler_t *sampler)
{
    tsw_telemetry_t reading;
    tsw_nvml_read(sampler->nvml, &reading);
    pthread_mutex_lock(&sampler->lock);
    tsw_nvml_readings_add(&sampler->readings, &reading);
    pthread_mutex_unlock(&sampler->lock);
}

/* What happened is gathered until somebody takes it. */
static void read_health(tsw_nvml_sampler_t *sampler)
{
    tsw_health_t new, *sum = &sampler->health;
    pthread_mutex_lock(&sampler->lock);
    const uint64_t asked = sampler->asked;
    pthread_mutex_unlock(&sampler->lock);
    tsw_nvml_health(sampler->nvml, &new);
    pthread_mutex_lock(&sampler->lock);
    sum->foreign_processes = new.foreign_processes;
    sum->ecc_corrected += new.ecc_corrected;
    sum->ecc_uncorrected += new.ecc_uncorrected;
    if (new.xid != 0 && !tsw_xid_is_fatal(sum->xid))
        sum->xid = new.xid;
    sum->is_gone = sum->is_gone || new.is_gone;
    sampler->answered = asked;
    pthread_cond_broadcast(&sampler->reply);
    pthread_mutex_unlock(&sampler->lock);
}

/* On the clock of tsw_clock_now_ns. */
static struct timespec time_of(uint64_t at_ns)
{
    return (struct timespec){.tv_sec = (time_t)(at_ns / 1000000000),
                             .tv_nsec = (long)(at_ns % 1000000000)};
}

/* Until then, or until there is a wish; false: the end. */
static bool rest(tsw_nvml_sampler_t *sampler, uint64_t until_ns, bool *is_asked_p)
{
    const struct timespec until = time_of(until_ns);
    int result = 0;
    pthread_mutex_lock(&sampler->lock);
    while (result == 0 && !sampler->is_ending && sampler->asked == sampler->answered)
        result = pthread_cond_timedwait(&sampler->wish, &sampler->lock, &until);
    bool goes_on = !sampler->is_ending;
    *is_asked_p = sampler->asked != sampler->answered;
    pthread_mutex_unlock(&sampler->lock);
    return goes_on;
}

static void *sample(void *user)
{
    tsw_nvml_sampler_t *sampler = user;
    uint64_t health_due_ns = 0, until_ns = 0;
    for (bool is_asked = false; rest(sampler, until_ns, &is_asked);) {
        const uint64_t start_ns = tsw_clock_now_ns();
        if (is_asked || start_ns >= health_due_ns) {
            read_health(sampler);
            health_due_ns = start_ns + health_period_ns;
        }
        if (!is_asked)
            read_telemetry(sampler);
        const uint64_t end_ns = tsw_clock_now_ns();
        const uint64_t rested_ns = end_ns + rest_times * (end_ns - start_ns);
        until_ns = start_ns + period_ns > rested_ns ? start_ns + period_ns : rested_ns;
    }
    return NULL;
}

/* ---- its owner ---- */

static void init_locks(tsw_nvml_sampler_t *sampler)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&sampler->wish, &attributes);
    pthread_cond_init(&sampler->reply, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&sampler->lock, NULL);
}

static void release(tsw_nvml_sampler_t *sampler)
{
    pthread_mutex_destroy(&sampler->lock);
    pthread_cond_destroy(&sampler->reply);
    pthread_cond_destroy(&sampler->wish);
    tsw_free(sampler);
}

tsw_status_t tsw_nvml_sampler_start(tsw_nvml_t *nvml, tsw_nvml_sampler_t **sampler_p,
                                    tsw_err_t *err)
{
    sigset_t all, kept;
    tsw_nvml_sampler_t *sampler = tsw_calloc(1, sizeof(*sampler));
    if (sampler == NULL)
        return tsw_err_nomem(err);
    sampler->nvml = nvml;
    init_locks(sampler);
    read_telemetry(sampler);
    /* Signals are for the thread that measures. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &kept);
    int result = pthread_create(&sampler->thread, NULL, sample, sampler);
    pthread_sigmask(SIG_SETMASK, &kept, NULL);
    if (result != 0) {
        release(sampler);
        return tsw_err_set(err, TSW_ERR_ENV, "no thread to read NVML: %s", strerror(result));
    }
    *sampler_p = sampler;
    return TSW_OK;
}

void tsw_nvml_sampler_stop(tsw_nvml_sampler_t *sampler)
{
    if (sampler == NULL)
        return;
    pthread_mutex_lock(&sampler->lock);
    sampler->is_ending = true;
    pthread_cond_signal(&sampler->wish);
    pthread_mutex_unlock(&sampler->lock);
    pthread_join(sampler->thread, NULL);
    release(sampler);
}

tsw_telemetry_t tsw_nvml_sampler_near(tsw_nvml_sampler_t *sampler, uint64_t from_ns, uint64_t to_ns)
{
    pthread_mutex_lock(&sampler->lock);
    tsw_telemetry_t nearest = tsw_nvml_readings_near(&sampler->readings, from_ns, to_ns);
    pthread_mutex_unlock(&sampler->lock);
    return nearest;
}

static void await_look(tsw_nvml_sampler_t *sampler)
{
    const struct timespec until = time_of(tsw_clock_now_ns() + patience_ns);
    const uint64_t ticket = ++sampler->asked;
    int result = 0;
    pthread_cond_signal(&sampler->wish);
    while (result == 0 && sampler->answered < ticket)
        result = pthread_cond_timedwait(&sampler->reply, &sampler->lock, &until);
}

tsw_health_t tsw_nvml_sampler_health(tsw_nvml_sampler_t *sampler, bool now)
{
    pthread_mutex_lock(&sampler->lock);
    if (now)
        await_look(sampler);
    tsw_health_t health = sampler->health;
    sampler->health = (tsw_health_t){.foreign_processes = health.foreign_processes};
    pthread_mutex_unlock(&sampler->lock);
    return health;
}
