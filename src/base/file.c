#include "base/file.h"

#include "base/linux.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SPECIAL_MAX = 64 << 20 };

static tsw_status_t fail_errno(tsw_err_t *err, const char *what, const char *path)
{
    int saved = errno;
    return tsw_err_set_vendor(err, tsw_err_from_errno(saved), saved, "%s %s: %s", what, path,
                              strerror(saved));
}

/* A pipe or a device: how much it holds nobody knows, and there is nothing to replace. */
static bool is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* /dev/zero has no end. */
static tsw_status_t read_special(const char *path, tsw_buf_t *out, tsw_err_t *err)
{
    const size_t before = out->size;
    tsw_status_t status = tsw_file_read_start(path, SPECIAL_MAX + 1, out, err);
    if (status == TSW_OK && out->size - before > SPECIAL_MAX)
        return tsw_err_set(err, TSW_ERR_INPUT, "%s is no file, and gives more than %d MiB", path,
                           SPECIAL_MAX >> 20);
    return status;
}

tsw_status_t tsw_file_read(const char *path, tsw_buf_t *out, tsw_err_t *err)
{
    uint64_t size = 0;
    if (is_special(path))
        return read_special(path, out, err);
    if (tsw_file_size(path, &size) && tsw_buf_ok(out) && !tsw_buf_reserve(out, size))
        return tsw_err_set(err, TSW_ERR_NOMEM, "%s: no memory for its %llu bytes", path,
                           (unsigned long long)size);
    return tsw_file_read_start(path, SIZE_MAX, out, err);
}

/* Until there is something to read, which may be never when a pipe has no writer. A handler may say
 * that system calls go on after its signal; this one does not. */
static tsw_status_t await_input(int fd, const char *path, tsw_err_t *err)
{
    struct pollfd input = {.fd = fd, .events = POLLIN};
    if (poll(&input, 1, -1) < 0 && errno == EINTR)
        return tsw_err_set(err, TSW_ERR_CANCELED, "%s: a signal came while it was read", path);
    return TSW_OK;
}

tsw_status_t tsw_file_read_start(const char *path, size_t limit, tsw_buf_t *out, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    const bool special = is_special(path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | (special ? O_NONBLOCK : 0));
    if (fd < 0)
        return fail_errno(err, "cannot open", path);
    while (limit > 0 && tsw_buf_ok(out)) {
        char chunk[65536];
        if (special && (status = await_input(fd, path, err)) != TSW_OK)
            goto out;
        ssize_t n = read(fd, chunk, limit < sizeof(chunk) ? limit : sizeof(chunk));
        if (n == 0)
            break;
        if (n < 0 && (errno == EINTR || (special && errno == EAGAIN)))
            continue;
        if (n < 0) {
            status = fail_errno(err, "cannot read", path);
            goto out;
        }
        tsw_buf_append(out, chunk, (size_t)n);
        limit -= (size_t)n;
    }
    if (!tsw_buf_ok(out))
        status = tsw_err_nomem(err);
out:
    close(fd);
    return status;
}

static tsw_status_t write_bytes(int fd, const char *path, const void *bytes, size_t size,
                                tsw_err_t *err)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(err, "cannot write", path);
        at += n;
        size -= (size_t)n;
    }
    return TSW_OK;
}

static tsw_status_t write_all(int fd, const char *path, const void *bytes, size_t size,
                              tsw_err_t *err)
{
    tsw_status_t status = write_bytes(fd, path, bytes, size, err);
    if (status == TSW_OK && fsync(fd) != 0)
        status = fail_errno(err, "cannot sync", path);
    return status;
}

tsw_status_t tsw_file_append(const char *path, const void *bytes, size_t size, tsw_err_t *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0)
        return fail_errno(err, "cannot open", path);
    tsw_status_t status = write_bytes(fd, path, bytes, size, err);
    if (close(fd) != 0 && status == TSW_OK)
        status = fail_errno(err, "cannot close", path);
    return status;
}

bool tsw_file_size(const char *path, uint64_t *size_p)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    *size_p = (uint64_t)info.st_size;
    return true;
}

static void sync_parent(const char *path)
{
    char *copy = tsw_strdup(path);
    if (copy == NULL)
        return;
    char *slash = strrchr(copy, '/');
    if (slash != NULL)
        *slash = '\0';
    int fd = open(slash != NULL ? copy : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd); /* best effort: some file systems refuse it for folders */
        close(fd);
    }
    tsw_free(copy);
}

static tsw_status_t replace(const char *path, const void *bytes, size_t size, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    int fd = -1;
    tsw_buf_t tmp = TSW_BUF_INIT;
    char node[64]; /* pids repeat on the nodes that share a folder */
    tsw_node_name(node, sizeof(node));
    tsw_buf_printf(&tmp, "%s.tmp.%s.%ld", path, node, (long)getpid());
    if (!tsw_buf_ok(&tmp)) {
        status = tsw_err_nomem(err);
        goto out;
    }
    const char *tmp_path = tsw_buf_text(&tmp);
    fd = open(tmp_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        status = fail_errno(err, "cannot create", tmp_path);
        goto out;
    }
    status = write_all(fd, tmp_path, bytes, size, err);
    if (status == TSW_OK && rename(tmp_path, path) != 0)
        status = fail_errno(err, "cannot rename to", path);
    if (status == TSW_OK)
        sync_parent(path);
    else
        unlink(tmp_path);
out:
    if (fd >= 0)
        close(fd);
    tsw_buf_fini(&tmp);
    return status;
}

static tsw_status_t write_into(const char *path, const void *bytes, size_t size, tsw_err_t *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, "cannot open", path);
    tsw_status_t status = write_bytes(fd, path, bytes, size, err);
    close(fd);
    return status;
}

tsw_status_t tsw_file_write_atomic(const char *path, const void *bytes, size_t size, tsw_err_t *err)
{
    struct stat st;
    if (is_special(path))
        return write_into(path, bytes, size, err);
    if (tsw_path_is_dir(path))
        return tsw_err_set(err, TSW_ERR_ARG, "%s is a folder, wanted a file", path);
    if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode))
        return replace(path, bytes, size, err);
    char *target = tsw_path_real(path);
    if (target == NULL) /* a link to nothing */
        return replace(path, bytes, size, err);
    tsw_status_t status = replace(target, bytes, size, err);
    tsw_free(target);
    return status;
}

tsw_status_t tsw_file_seal(const char *tmp_path, const char *final_path, tsw_err_t *err)
{
    int fd = open(tmp_path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, "cannot open", tmp_path);
    tsw_status_t status = TSW_OK;
    if (fsync(fd) != 0)
        status = fail_errno(err, "cannot sync", tmp_path);
    close(fd);
    if (status == TSW_OK && rename(tmp_path, final_path) != 0)
        status = fail_errno(err, "cannot rename to", final_path);
    if (status == TSW_OK)
        sync_parent(final_path);
    return status;
}

tsw_status_t tsw_dir_make(const char *path, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    char *copy = tsw_strdup(path);
    if (copy == NULL)
        return tsw_err_nomem(err);
    for (char *at = copy + 1;; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        char saved = *at;
        *at = '\0';
        if (mkdir(copy, 0755) != 0 && errno != EEXIST) {
            status = fail_errno(err, "cannot make folder", copy);
            break;
        }
        *at = saved;
        if (saved == '\0')
            break;
    }
    if (status == TSW_OK && !tsw_path_is_dir(path))
        status = tsw_err_set(err, TSW_ERR_ARG, "%s exists and is not a folder", path);
    tsw_free(copy);
    return status;
}

tsw_status_t tsw_dir_make_exclusive(const char *path, tsw_err_t *err)
{
    return mkdir(path, 0755) == 0 ? TSW_OK : fail_errno(err, "cannot make folder", path);
}

tsw_status_t tsw_dir_remove(const char *path, tsw_err_t *err)
{
    struct stat info;
    if (lstat(path, &info) != 0)
        return errno == ENOENT ? TSW_OK : fail_errno(err, "cannot look at", path);
    if (!S_ISDIR(info.st_mode))
        return unlink(path) == 0 ? TSW_OK : fail_errno(err, "cannot remove", path);
    tsw_names_t names = {0};
    tsw_status_t status = tsw_dir_list(path, &names, err);
    for (size_t i = 0; status == TSW_OK && i < names.count; i++) {
        char *child = tsw_path_join(path, names.names[i]);
        status = child != NULL ? tsw_dir_remove(child, err) : tsw_err_nomem(err);
        tsw_free(child);
    }
    tsw_names_fini(&names);
    if (status == TSW_OK && rmdir(path) != 0)
        status = fail_errno(err, "cannot remove", path);
    return status;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

tsw_status_t tsw_dir_list(const char *path, tsw_names_t *names_p, tsw_err_t *err)
{
    tsw_status_t status = TSW_OK;
    tsw_names_t names = {0};
    size_t capacity = 0;
    DIR *dir = opendir(path);
    if (dir == NULL)
        return fail_errno(err, "cannot open folder", path);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *name = tsw_strdup(entry->d_name);
        if (name == NULL || !TSW_GROW(names.names, capacity, names.count)) {
            tsw_free(name);
            status = tsw_err_nomem(err);
            break;
        }
        names.names[names.count++] = name;
    }
    closedir(dir);
    if (status != TSW_OK) {
        tsw_names_fini(&names);
        return status;
    }
    if (names.count > 1)
        qsort(names.names, names.count, sizeof(names.names[0]), compare_names);
    *names_p = names;
    return TSW_OK;
}

void tsw_names_fini(tsw_names_t *names)
{
    for (size_t i = 0; i < names->count; i++)
        tsw_free(names->names[i]);
    tsw_free(names->names);
    *names = (tsw_names_t){0};
}

bool tsw_path_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

bool tsw_path_is_taken(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

bool tsw_path_is_dir(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool tsw_path_is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* One look: between two of them the file may come to be. */
bool tsw_path_is_plain(const char *path)
{
    struct stat info;
    return stat(path, &info) != 0 || S_ISREG(info.st_mode);
}

char *tsw_path_join(const char *dir, const char *name)
{
    tsw_buf_t path = TSW_BUF_INIT;
    size_t n = strlen(dir);
    tsw_buf_printf(&path, "%s%s%s", dir, n > 0 && dir[n - 1] != '/' ? "/" : "", name);
    return tsw_buf_take_text(&path);
}

char *tsw_path_absolute(const char *path)
{
    char here[4096];
    if (path[0] == '/')
        return tsw_strdup(path);
    return getcwd(here, sizeof(here)) != NULL ? tsw_path_join(here, path) : NULL;
}

char *tsw_path_self_dir(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (n <= 0)
        return NULL;
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (slash != NULL && slash != path)
        *slash = '\0';
    return tsw_strdup(path);
}
