#include "build/toolchain.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "build/nvrtc.h"
#include "build/process.h"
#include "build/toolchain_key.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPS_ROOT "/.deps/toolchain/nvidia/cu13"
#define DEPS_UP   3 /* the program's folder and two above it: build/bin, build, the checkout */

/* Of `tileiras --version`: a file system may be slow to load it; a wrapper of it may never end. */
#define VERSION_WALL_S    60
#define VERSION_BYTES_MAX 65536

void tsw_toolchain_fini(tsw_toolchain_t *toolchain)
{
    tsw_free(toolchain->root);
    tsw_free(toolchain->nvrtc);
    tsw_free(toolchain->tileiras);
    tsw_free(toolchain->text);
    *toolchain = (tsw_toolchain_t){0};
}

/* First file of root/sub whose name starts with prefix; heap, or NULL. */
static char *find_file(const char *root, const char *sub, const char *prefix)
{
    char *found = NULL;
    tsw_names_t names = {0};
    char *dir = tsw_path_join(root, sub);
    if (dir != NULL && tsw_dir_list(dir, &names, NULL) == TSW_OK) {
        for (size_t i = 0; found == NULL && i < names.count; i++) {
            if (tsw_text_starts_with(names.names[i], prefix))
                found = tsw_path_join(dir, names.names[i]);
        }
    }
    tsw_names_fini(&names);
    tsw_free(dir);
    return found;
}

static char *find_library(const char *root, const char *prefix)
{
    static const char *const subs[] = {"lib", "lib64", "nvvm/lib64"};
    char *found = NULL;
    for (size_t i = 0; found == NULL && i < sizeof(subs) / sizeof(subs[0]); i++)
        found = find_file(root, subs[i], prefix);
    return found;
}

/* root/bin/name when it can be executed; heap, or NULL. */
static char *find_program(const char *root, const char *name)
{
    char *bin = tsw_path_join(root, "bin");
    char *path = bin != NULL ? tsw_path_join(bin, name) : NULL;
    tsw_free(bin);
    if (path != NULL && access(path, X_OK) != 0) {
        tsw_free(path);
        path = NULL;
    }
    return path;
}

/* The version in "Cuda compilation tools, release 13.5, V13.5.37", or "?". */
static void parse_version(const char *text, char *out, size_t size)
{
    const char *at = strstr(text, ", V");
    size_t length = at != NULL ? strspn(at + 3, "0123456789.") : 0;
    if (length > 0 && length < size)
        snprintf(out, size, "%.*s", (int)length, at + 3);
    else
        snprintf(out, size, "?");
}

static tsw_status_t program_version(const char *path, char *out, size_t size, tsw_err_t *err)
{
    FILE *file = tmpfile();
    if (file == NULL)
        return tsw_err_set_vendor(err, TSW_ERR_IO, errno, "cannot make a temporary file: %s",
                                  strerror(errno));
    char *argv_path = tsw_strdup(path);
    char option[] = "--version";
    char *argv[] = {argv_path, option, NULL};
    char *env[] = {NULL};
    tsw_process_t process = {.path = path,
                             .argv = argv,
                             .env = env,
                             .output_fd = fileno(file),
                             .wall_limit_s = VERSION_WALL_S,
                             .output_limit = VERSION_BYTES_MAX};
    tsw_process_end_t end = {0};
    char text[1024] = "";
    tsw_status_t status = argv_path != NULL ? TSW_OK : tsw_err_nomem(err);
    if (status == TSW_OK)
        status = tsw_process_run(&process, &end, err);
    if (status == TSW_OK && end.exited && end.exit_code == 0) {
        rewind(file);
        text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    }
    if (status == TSW_OK)
        parse_version(text, out, size);
    tsw_free(argv_path);
    fclose(file);
    return status;
}

static tsw_status_t make_key(const tsw_toolchain_t *toolchain, const char *versions,
                             const char *ptxas, const char *memo_dir, tsw_key_t *key_p,
                             tsw_err_t *err)
{
    char *nvvm = find_library(toolchain->root, "libnvvm.so");
    /* NVRTC too: its version lacks the patch level. */
    const char *const paths[] = {toolchain->nvrtc, toolchain->tileiras, ptxas, nvvm};
    tsw_status_t status =
        tsw_toolchain_key(versions, paths, sizeof(paths) / sizeof(paths[0]), memo_dir, key_p, err);
    tsw_free(nvvm);
    return status;
}

static tsw_status_t nvrtc_version(const char *path, tsw_buf_t *text, tsw_err_t *err)
{
    tsw_nvrtc_t *nvrtc = NULL;
    tsw_status_t status = tsw_nvrtc_open(path, &nvrtc, err);
    if (status != TSW_OK)
        return status;
    int major = 0, minor = 0;
    tsw_nvrtc_version(nvrtc, &major, &minor);
    tsw_buf_printf(text, "nvrtc %d.%d", major, minor);
    tsw_nvrtc_close(nvrtc);
    return TSW_OK;
}

static tsw_status_t append_version(const char *name, const char *path, tsw_buf_t *text,
                                   tsw_err_t *err)
{
    char version[32];
    if (path == NULL)
        return TSW_OK;
    tsw_status_t status = program_version(path, version, sizeof(version), err);
    if (status == TSW_OK)
        tsw_buf_printf(text, " %s %s", name, version);
    return status;
}

/* Everything about the toolchain in the folder; TSW_ERR_ENV when it lacks NVRTC or does not work.
 * The compilers run in folders of their own, so the paths are absolute. */
static tsw_status_t examine(const char *folder, const char *memo_dir, tsw_toolchain_t *toolchain,
                            tsw_err_t *err)
{
    toolchain->root = tsw_path_absolute(folder);
    if (toolchain->root == NULL)
        return tsw_err_nomem(err);
    const char *root = toolchain->root;
    tsw_buf_t text = TSW_BUF_INIT;
    char *ptxas = find_program(root, "ptxas");
    char digits[TSW_KEY_TEXT_SIZE];
    tsw_status_t status = TSW_OK;
    toolchain->nvrtc = find_library(root, "libnvrtc.so");
    toolchain->tileiras = find_program(root, "tileiras");
    if (toolchain->nvrtc == NULL)
        status = tsw_err_set(err, TSW_ERR_ENV, "no libnvrtc.so in %s/lib or lib64", root);
    if (status == TSW_OK)
        status = nvrtc_version(toolchain->nvrtc, &text, err);
    if (status == TSW_OK)
        status = append_version("tileiras", toolchain->tileiras, &text, err);
    if (status == TSW_OK)
        status = append_version("ptxas", ptxas, &text, err);
    if (status == TSW_OK)
        status = make_key(toolchain, tsw_buf_text(&text), ptxas, memo_dir, &toolchain->key, err);
    if (status == TSW_OK) {
        tsw_buf_printf(&text, " %.8s", tsw_key_format(toolchain->key, digits));
        toolchain->text = tsw_buf_take_text(&text);
        if (toolchain->text == NULL)
            status = tsw_err_nomem(err);
    }
    toolchain->found = status == TSW_OK;
    tsw_buf_fini(&text);
    tsw_free(ptxas);
    return status;
}

/* A place where a toolchain may be. A failure is noted in missing, so that the search goes on. */
static bool try_root(const char *root, const char *memo_dir, tsw_toolchain_t *toolchain,
                     tsw_buf_t *missing)
{
    tsw_err_t err = TSW_ERR_INIT;
    if (examine(root, memo_dir, toolchain, &err) == TSW_OK)
        return true;
    tsw_toolchain_fini(toolchain);
    tsw_buf_printf(missing, "%s%s", missing->size > 0 ? "; " : "", err.text);
    return false;
}

static bool try_deps(const char *memo_dir, tsw_toolchain_t *toolchain, tsw_buf_t *missing)
{
    bool found = false;
    char *dir = tsw_path_self_dir();
    for (int i = 0; !found && dir != NULL && i < DEPS_UP; i++) {
        tsw_buf_t root = TSW_BUF_INIT;
        tsw_buf_printf(&root, "%s%s", dir, DEPS_ROOT);
        if (tsw_path_is_dir(tsw_buf_text(&root)))
            found = try_root(tsw_buf_text(&root), memo_dir, toolchain, missing);
        tsw_buf_fini(&root);
        char *slash = strrchr(dir, '/');
        if (slash == NULL)
            break;
        *slash = '\0';
    }
    tsw_free(dir);
    return found;
}

static bool search(const char *memo_dir, tsw_toolchain_t *toolchain, tsw_buf_t *missing)
{
    const char *chosen = getenv("TSW_TOOLCHAIN");
    if (chosen != NULL && chosen[0] != '\0')
        return try_root(chosen, memo_dir, toolchain, missing);
    if (try_deps(memo_dir, toolchain, missing))
        return true;
    const char *cuda_home = getenv("CUDA_HOME");
    return cuda_home != NULL && cuda_home[0] != '\0' &&
           try_root(cuda_home, memo_dir, toolchain, missing);
}

tsw_status_t tsw_toolchain_find(const char *option, const char *memo_dir,
                                tsw_toolchain_t *toolchain_p, tsw_err_t *err)
{
    tsw_toolchain_t toolchain = {0};
    if (option != NULL) {
        tsw_status_t status = examine(option, memo_dir, &toolchain, err);
        if (status == TSW_OK)
            *toolchain_p = toolchain;
        else
            tsw_toolchain_fini(&toolchain);
        return status;
    }
    tsw_status_t status = TSW_OK;
    tsw_buf_t missing = TSW_BUF_INIT;
    if (!search(memo_dir, &toolchain, &missing)) {
        tsw_buf_t text = TSW_BUF_INIT;
        tsw_buf_printf(&text,
                       "no CUDA toolchain (looked in TSW_TOOLCHAIN, .deps beside the "
                       "program, CUDA_HOME)%s%s",
                       missing.size > 0 ? ": " : "", tsw_buf_text(&missing));
        toolchain.text = tsw_buf_take_text(&text);
        if (toolchain.text == NULL)
            status = tsw_err_nomem(err);
        tsw_buf_fini(&text);
    }
    if (status == TSW_OK)
        *toolchain_p = toolchain;
    tsw_buf_fini(&missing);
    return status;
}
