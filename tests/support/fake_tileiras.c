/* tileiras --gpu-name=sm_90 IN -o OUT, and --version (docs: fake_compiler.h). As ptxas, a second
 * name of this program: --version and --spin. */
#include "fake_compiler.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *option(int argc, char **argv, const char *name)
{
    size_t n = strlen(name);
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], name, n) == 0)
            return argv[i] + n;
    }
    return NULL;
}

static int fail(const char *text)
{
    fprintf(stderr, "error: %s\n", text);
    return 5;
}

/* As the real one: looks in CUDA_HOME, and leaves files in TMPDIR when it is killed. */
static int run_ptxas(const char *argument)
{
    const char *home = getenv("CUDA_HOME");
    char path[4096];
    if (home == NULL)
        return fail("failed to compile Tile IR program");
    snprintf(path, sizeof(path), "%s/bin/ptxas", home);
    pid_t pid = fork();
    if (pid == 0) {
        execl(path, "ptxas", argument, (char *)NULL);
        _exit(127);
    }
    int state = 0;
    waitpid(pid, &state, 0);
    return WIFEXITED(state) && WEXITSTATUS(state) == 0 ? 0
                                                       : fail("failed to compile Tile IR program");
}

static int compile(const char *in_path, const char *out_path, unsigned arch)
{
    static fake_unit_t unit;
    static char ir[64 * 1024];
    static uint8_t cubin[64 * 1024];
    FILE *in = fopen(in_path, "rb");
    if (in == NULL)
        return fail("unable to read input file");
    ir[fread(ir, 1, sizeof(ir) - 1, in)] = '\0';
    fclose(in);
    if (!fake_unit_read_ir(&unit, ir))
        return fail("not Tile IR");
    if (fake_unit_does(&unit, "spin", arch))
        fake_spin();
    if (fake_unit_does(&unit, "ptxas_spin", arch))
        return run_ptxas("--spin");
    if (fake_unit_does(&unit, "chatty", arch)) {
        for (int i = 0; i < 200000; i++)
            fprintf(stderr, "note: again\n");
        return fail("said enough");
    }
    if (fake_unit_does(&unit, "fail", arch))
        return fail("failed to compile Tile IR program");
    if (fake_unit_does(&unit, "fail_once", arch)) {
        FILE *before = fopen("failed", "rb"); /* in the folder of the build */
        if (before == NULL) {
            fclose(fopen("failed", "wb"));
            return fail("failed to compile Tile IR program");
        }
        fclose(before);
    }
    if (fake_unit_does(&unit, "crash", arch)) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer would make an exit of it */
        raise(SIGSEGV);
    }
    if (fake_unit_does(&unit, "killed", arch))
        raise(SIGKILL);
    if (fake_unit_does(&unit, "no_cubin", arch))
        return 0;
    size_t size = fake_unit_write_cubin(&unit, arch, cubin, sizeof(cubin));
    FILE *out = fopen(out_path, "wb");
    if (out == NULL || fwrite(cubin, 1, size, out) != size || fclose(out) != 0)
        return fail("cannot write the output");
    return 0;
}

int main(int argc, char **argv)
{
    const char *program = strrchr(argv[0], '/');
    program = program != NULL ? program + 1 : argv[0];
    if (option(argc, argv, "--version") != NULL) {
        printf("%s: fake\nCuda compilation tools, release 13.5, V13.5.0\n", program);
        return 0;
    }
    if (option(argc, argv, "--spin") != NULL)
        fake_spin();
    const char *gpu = option(argc, argv, "--gpu-name=sm_");
    const char *in = NULL, *out = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-o") == 0 && i + 1 < argc)
            out = argv[++i];
        else if (argv[i][0] != '-')
            in = argv[i];
    }
    if (gpu == NULL || in == NULL || out == NULL)
        return fail("usage: tileiras --gpu-name=sm_90 IN -o OUT");
    return compile(in, out, (unsigned)strtoul(gpu, NULL, 10));
}
