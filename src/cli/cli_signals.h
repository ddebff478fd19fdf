#ifndef TSW_CLI_SIGNALS_H
#define TSW_CLI_SIGNALS_H

/* From now on USR1 (schedulers send it ahead of the end), TERM and INT ask a run to stop in an
 * orderly way. */
void tsw_cli_catch_signals(void);

#endif
