/* Content-addressed cubins in a folder that many processes share. A miss is never an error; a bad
 * checksum is a miss; nobody ever sees half an entry; folders are never removed. */
#ifndef TSW_BUILD_CACHE_H
#define TSW_BUILD_CACHE_H

#include "build/build.h"

typedef struct tsw_cache tsw_cache_t;

/* dir is made if it is not there. toolchain_key/text name the sub-folder that is written and read.
 * With toolchain->found false: the newest sub-folder that covers the plan is used, and *text_p
 * (heap) tells its toolchain; TSW_ERR_ENV when none does, with how many builds are missing. */
tsw_status_t tsw_cache_open(const char *dir, const tsw_toolchain_t *toolchain,
                            const tsw_plan_t *plan, tsw_cache_t **cache_p, char **text_p,
                            tsw_err_t *err);
void tsw_cache_close(tsw_cache_t *cache);

/* The key of one artifact: request (bytes of the pack folder, options, defines, language) and arch.
 * No paths. */
tsw_key_t tsw_cache_key(const tsw_build_request_t *request, tsw_arch_t arch);

/* TSW_ERR_NOT_FOUND is a miss. Only outcomes ok and compile_failed are kept. */
tsw_status_t tsw_cache_get(tsw_cache_t *cache, tsw_key_t key, tsw_artifact_t *artifact_p,
                           tsw_err_t *err);
/* Failures to write are reported but harmless. */
tsw_status_t tsw_cache_put(tsw_cache_t *cache, tsw_key_t key, const tsw_artifact_t *artifact,
                           tsw_err_t *err);

#endif
