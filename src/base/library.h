/* Shared libraries that are opened at run time, beside dlopen. */
#ifndef TSW_BASE_LIBRARY_H
#define TSW_BASE_LIBRARY_H

#include <stdbool.h>

/* What the environment variable names; the fallback when it is not set, or empty. Borrowed. */
const char *tsw_library_path(const char *variable, const char *fallback);
/* Puts the address of a function into *function_p, a pointer to a function; NULL and false when
 * the library lacks it. */
bool tsw_library_find(void *library, const char *symbol, void *function_p);

#endif
