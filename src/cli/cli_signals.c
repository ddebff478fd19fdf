#include "cli/cli_signals.h"

#include "run/run.h"

#include <signal.h>
#include <stddef.h>

static void on_signal(int signo)
{
    (void)signo;
    tsw_run_request_drain();
}

void tsw_cli_catch_signals(void)
{
    static const int signals[] = {SIGUSR1, SIGTERM, SIGINT, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        struct sigaction old;
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}
