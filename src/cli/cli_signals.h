#ifndef TSW_CLI_SIGNALS_H
#define TSW_CLI_SIGNALS_H

/* From now on USR1 (schedulers send it ahead of the end), TERM, INT and HUP (the terminal is gone)
 * ask a run to stop in an orderly way. One that the caller has ignored, as nohup does, stays so. */
void tsw_cli_catch_signals(void);

#endif
