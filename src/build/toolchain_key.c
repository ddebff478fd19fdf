#include "build/toolchain_key.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The bytes of a file into the hash; nothing when path is NULL. */
static tsw_status_t hash_file(tsw_hash_t *hash, const char *path, tsw_err_t *err)
{
    enum { CHUNK = 1 << 20 };
    if (path == NULL)
        return TSW_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *chunk = tsw_malloc(CHUNK);
    tsw_status_t status = TSW_OK;
    if (fd < 0)
        status = tsw_err_set_vendor(err, TSW_ERR_ENV, errno, "cannot open %s: %s", path,
                                    strerror(errno));
    else if (chunk == NULL)
        status = tsw_err_nomem(err);
    while (status == TSW_OK) {
        ssize_t n = read(fd, chunk, CHUNK);
        if (n == 0)
            break;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            status = tsw_err_set_vendor(err, TSW_ERR_ENV, errno, "cannot read %s: %s", path,
                                        strerror(errno));
        else
            tsw_hash_bytes(hash, chunk, (size_t)n);
    }
    tsw_free(chunk);
    if (fd >= 0)
        close(fd);
    return status;
}

static tsw_status_t hash_files(const char *versions, const char *const *paths, size_t count,
                               tsw_key_t *key_p, tsw_err_t *err)
{
    tsw_hash_t *hash = tsw_hash_new();
    if (hash == NULL)
        return tsw_err_nomem(err);
    tsw_status_t status = TSW_OK;
    tsw_hash_text(hash, versions);
    for (size_t i = 0; status == TSW_OK && i < count; i++)
        status = hash_file(hash, paths[i], err);
    if (status == TSW_OK)
        *key_p = tsw_hash_key(hash);
    tsw_hash_free(hash);
    return status;
}

/* ---- the memo: a file for each set of files as they are now, which holds their key ---- */

static bool hash_identity(tsw_hash_t *hash, const char *path)
{
    struct stat facts;
    if (path == NULL)
        return true;
    if (stat(path, &facts) != 0)
        return false;
    tsw_hash_text(hash, path);
    tsw_hash_i64(hash, (int64_t)facts.st_dev);
    tsw_hash_i64(hash, (int64_t)facts.st_ino);
    tsw_hash_i64(hash, (int64_t)facts.st_size);
    tsw_hash_i64(hash, (int64_t)facts.st_mtim.tv_sec);
    tsw_hash_i64(hash, (int64_t)facts.st_mtim.tv_nsec);
    tsw_hash_i64(hash, (int64_t)facts.st_ctim.tv_sec);
    tsw_hash_i64(hash, (int64_t)facts.st_ctim.tv_nsec);
    return true;
}

/* Path of the memo, heap; NULL: there can be none. */
static char *memo_path(const char *versions, const char *const *paths, size_t count,
                       const char *memo_dir)
{
    char digits[TSW_KEY_TEXT_SIZE], name[TSW_KEY_TEXT_SIZE + 16];
    tsw_hash_t *hash = memo_dir != NULL ? tsw_hash_new() : NULL;
    if (hash == NULL)
        return NULL;
    bool known = true;
    tsw_hash_text(hash, versions);
    for (size_t i = 0; known && i < count; i++)
        known = hash_identity(hash, paths[i]);
    snprintf(name, sizeof(name), "toolchain.%s", tsw_key_format(tsw_hash_key(hash), digits));
    tsw_hash_free(hash);
    return known ? tsw_path_join(memo_dir, name) : NULL;
}

static bool read_memo(const char *path, tsw_key_t *key_p)
{
    tsw_buf_t text = TSW_BUF_INIT;
    bool found = path != NULL && tsw_path_is_plain(path) &&
                 tsw_file_read(path, &text, NULL) == TSW_OK && text.size == TSW_KEY_TEXT_SIZE - 1 &&
                 tsw_key_parse(tsw_buf_text(&text), key_p);
    tsw_buf_fini(&text);
    return found;
}

/* Without a memo the next start takes longer, no more. */
static void write_memo(const char *memo_dir, const char *path, tsw_key_t key)
{
    char digits[TSW_KEY_TEXT_SIZE];
    tsw_key_format(key, digits);
    if (path != NULL && tsw_path_is_plain(path) && tsw_dir_make(memo_dir, NULL) == TSW_OK)
        tsw_file_write_atomic(path, digits, strlen(digits), NULL);
}

tsw_status_t tsw_toolchain_key(const char *versions, const char *const *paths, size_t count,
                               const char *memo_dir, tsw_key_t *key_p, tsw_err_t *err)
{
    char *memo = memo_path(versions, paths, count, memo_dir);
    tsw_status_t status = TSW_OK;
    if (!read_memo(memo, key_p)) {
        status = hash_files(versions, paths, count, key_p, err);
        if (status == TSW_OK)
            write_memo(memo_dir, memo, *key_p);
    }
    tsw_free(memo);
    return status;
}
