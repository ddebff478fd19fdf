/* Host clocks. */
#ifndef TSW_BASE_CLOCK_H
#define TSW_BASE_CLOCK_H

#include <stdint.h>

uint64_t tsw_clock_now_ns(void);   /* monotonic, arbitrary origin */
void tsw_clock_sleep(uint64_t ns); /* at least so long */
/* Between two looks at what is awaited: sleeps *ns and doubles it, up to longest_ns. */
void tsw_clock_nap(uint64_t *ns, uint64_t longest_ns);
uint64_t tsw_clock_wall_ns(void); /* since 1970, UTC */
/* "2026-11-29T20:15:03Z"; returns out. */
char *tsw_clock_format_utc(uint64_t wall_ns, char out[32]);

#endif
