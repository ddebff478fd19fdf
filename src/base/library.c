#include "base/library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

const char *tsw_library_path(const char *variable, const char *fallback)
{
    const char *path = getenv(variable);
    return path != NULL && path[0] != '\0' ? path : fallback;
}

/* An object pointer and a function pointer have one size wherever dlsym exists. */
bool tsw_library_find(void *library, const char *symbol, void *function_p)
{
    void *function = dlsym(library, symbol);
    memcpy(function_p, &function, sizeof(function));
    return function != NULL;
}
