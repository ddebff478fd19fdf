#include "build/tileiras.h"

#include "base/file.h"
#include "base/mem.h"
#include "build/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOG_NAME "tileiras.log"
/* A compiler run wild may print all day, or until the disk that others build on is full. */
#define FILE_BYTES_MAX ((uint64_t)1 << 30)
#define LOG_BYTES_MAX  ((size_t)1 << 20)

/* A failure after so much of the CPU time allowed counts as ptxas' death at the limit: the kernel
 * counts for the limit in ticks, so that rusage may show 12 % less (tried, on a virtual machine).
 */
#define CPU_LIMIT_SHARE 0.5

/* Texts of one run: arguments, environment and file names. */
typedef struct {
    tsw_buf_t gpu, cubin, cuda_home, path, tmpdir;
    char *log_path, *cubin_path;
} texts_t;

static void texts_fini(texts_t *texts)
{
    tsw_buf_fini(&texts->gpu);
    tsw_buf_fini(&texts->cubin);
    tsw_buf_fini(&texts->cuda_home);
    tsw_buf_fini(&texts->path);
    tsw_buf_fini(&texts->tmpdir);
    tsw_free(texts->log_path);
    tsw_free(texts->cubin_path);
}

static tsw_status_t texts_make(const tsw_toolchain_t *toolchain, const char *work_dir,
                               tsw_arch_t arch, texts_t *texts, tsw_err_t *err)
{
    char name[16];
    tsw_arch_format(arch, name);
    tsw_buf_printf(&texts->gpu, "--gpu-name=%s", name);
    tsw_buf_printf(&texts->cubin, "%s.cubin", name);
    tsw_buf_printf(&texts->cuda_home, "CUDA_HOME=%s", toolchain->root);
    tsw_buf_printf(&texts->path, "PATH=%s/bin", toolchain->root);
    tsw_buf_printf(&texts->tmpdir, "TMPDIR=%s", work_dir);
    texts->log_path = tsw_path_join(work_dir, LOG_NAME);
    texts->cubin_path = tsw_path_join(work_dir, tsw_buf_text(&texts->cubin));
    bool ok = tsw_buf_ok(&texts->gpu) && tsw_buf_ok(&texts->cubin) &&
              tsw_buf_ok(&texts->cuda_home) && tsw_buf_ok(&texts->path) &&
              tsw_buf_ok(&texts->tmpdir) && texts->log_path != NULL && texts->cubin_path != NULL;
    return ok ? TSW_OK : tsw_err_nomem(err);
}

/* argv and environment want char *, and change nothing. */
static char *text_of(tsw_buf_t *buf)
{
    return (char *)buf->data;
}

static tsw_status_t start(const tsw_toolchain_t *toolchain, const char *work_dir,
                          const char *ir_name, double cpu_limit_s, texts_t *texts,
                          tsw_process_end_t *end_p, tsw_err_t *err)
{
    unlink(texts->cubin_path); /* of an earlier build in this folder */
    int fd = open(texts->log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return tsw_err_set_vendor(err, tsw_err_from_errno(errno), errno, "cannot create %s: %s",
                                  texts->log_path, strerror(errno));
    char option[] = "-o";
    char program[] = "tileiras";
    char *input = tsw_strdup(ir_name);
    char *argv[] = {program, text_of(&texts->gpu), input, option, text_of(&texts->cubin), NULL};
    char *env[] = {text_of(&texts->cuda_home), text_of(&texts->path), text_of(&texts->tmpdir),
                   NULL};
    tsw_process_t process = {
        .path = toolchain->tileiras,
        .argv = argv,
        .env = env,
        .dir = work_dir,
        .output_fd = fd,
        .cpu_limit_s = cpu_limit_s,
        .output_limit = FILE_BYTES_MAX,
    };
    tsw_status_t status =
        input != NULL ? tsw_process_run(&process, end_p, err) : tsw_err_nomem(err);
    tsw_free(input);
    close(fd);
    return status;
}

/* Whether nothing more can be written below work_dir: then a failure is the disk's. */
static bool disk_is_full(const char *work_dir)
{
    static const char zeros[4096];
    char *path = tsw_path_join(work_dir, "space.tmp");
    if (path == NULL)
        return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool full = fd < 0 && errno == ENOSPC;
    for (int i = 0; fd >= 0 && !full && i < 16; i++)
        full = write(fd, zeros, sizeof(zeros)) < 0 && (errno == ENOSPC || errno == EDQUOT);
    if (fd >= 0)
        close(fd);
    unlink(path);
    tsw_free(path);
    return full;
}

static void set_failed(tsw_artifact_t *artifact, const tsw_process_end_t *end, const char *said)
{
    artifact->outcome = TSW_OUTCOME_COMPILE_FAILED;
    while (*said == '\n')
        said++;
    const char *colon = *said != '\0' ? ": " : "";
    int length = (int)strcspn(said, "\n");
    if (end->exited)
        snprintf(artifact->detail, sizeof(artifact->detail), "tileiras: exit %d%s%.*s",
                 end->exit_code, colon, length, said);
    else
        snprintf(artifact->detail, sizeof(artifact->detail), "tileiras: died of signal %d%s%.*s",
                 end->signo, colon, length, said);
}

static bool is_at_limit(const tsw_process_end_t *end, double cpu_limit_s)
{
    return cpu_limit_s > 0 && (double)end->cpu_ns >= cpu_limit_s * 1e9 * CPU_LIMIT_SHARE;
}

/* A ptxas that somebody killed, for its memory perhaps, looks as one that refuses the source. What
 * fails twice is the source's fault. */
static bool is_doubtful(const tsw_process_end_t *end, double cpu_limit_s)
{
    return end->exited && end->exit_code != 0 && !is_at_limit(end, cpu_limit_s);
}

/* What the end of tileiras means. At the limit of CPU time the process that spins may be tileiras,
 * or ptxas, whose death tileiras reports as a failure of its own. */
static tsw_status_t judge(const tsw_process_end_t *end, const char *work_dir, double cpu_limit_s,
                          const char *said, tsw_artifact_t *artifact, tsw_err_t *err)
{
    if (end->exited && end->exit_code == 0) {
        artifact->outcome = TSW_OUTCOME_OK;
        return TSW_OK;
    }
    if (is_at_limit(end, cpu_limit_s) || (!end->exited && end->signo == SIGXCPU)) {
        artifact->outcome = TSW_OUTCOME_COMPILE_TIMEOUT;
        snprintf(artifact->detail, sizeof(artifact->detail),
                 "tileiras: stopped after %.1f s of CPU time (limit %g s)",
                 (double)end->cpu_ns * 1e-9, cpu_limit_s);
        return TSW_OK;
    }
    if (disk_is_full(work_dir))
        return tsw_err_set(err, TSW_ERR_FULL, "no space left for the compiler in %s", work_dir);
    if (!end->exited && end->signo == SIGKILL) {
        artifact->outcome = TSW_OUTCOME_OUT_OF_MEMORY;
        snprintf(artifact->detail, sizeof(artifact->detail),
                 "tileiras: killed, as when the host runs out of memory");
        return TSW_OK;
    }
    set_failed(artifact, end, said);
    return TSW_OK;
}

tsw_status_t tsw_tileiras_run(const tsw_toolchain_t *toolchain, const char *work_dir,
                              const char *ir_name, tsw_arch_t arch, double cpu_limit_s,
                              tsw_artifact_t *artifact_p, tsw_buf_t *log, tsw_err_t *err)
{
    texts_t texts = {.log_path = NULL};
    tsw_process_end_t end = {0};
    tsw_artifact_t artifact = {.cubin = TSW_BUF_INIT};
    tsw_buf_t said = TSW_BUF_INIT;
    tsw_status_t status = texts_make(toolchain, work_dir, arch, &texts, err);
    if (status == TSW_OK)
        status = start(toolchain, work_dir, ir_name, cpu_limit_s, &texts, &end, err);
    if (status == TSW_OK && is_doubtful(&end, cpu_limit_s))
        status = start(toolchain, work_dir, ir_name, cpu_limit_s, &texts, &end, err);
    if (status == TSW_OK)
        status = tsw_file_read_start(texts.log_path, LOG_BYTES_MAX, &said, err);
    if (status == TSW_OK)
        status = judge(&end, work_dir, cpu_limit_s, tsw_buf_text(&said), &artifact, err);
    if (status == TSW_OK && artifact.outcome == TSW_OUTCOME_OK &&
        tsw_file_read(texts.cubin_path, &artifact.cubin, NULL) != TSW_OK) {
        artifact.outcome = TSW_OUTCOME_COMPILE_FAILED;
        snprintf(artifact.detail, sizeof(artifact.detail), "tileiras: exit 0, but no cubin");
    }
    if (status == TSW_OK) {
        tsw_buf_append(log, said.data, said.size);
        artifact.facts.compile_cpu_ns = end.cpu_ns;
        artifact.facts.compile_wall_ns = end.wall_ns;
        *artifact_p = artifact;
    } else {
        tsw_buf_fini(&artifact.cubin);
    }
    tsw_buf_fini(&said);
    texts_fini(&texts);
    return status;
}
