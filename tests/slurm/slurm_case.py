#!/usr/bin/env python3
"""Runs one case of tests/slurm (README.md beside this file).
usage: slurm_case.py CASE BIN_DIR SOURCE_DIR"""
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from fake_toolchain import make_toolchain
from slurm_cluster import Cluster, Job, await_true, enter, missing, processes, run

SKIP = 77
LINGER_S = 20  # so long may a process outlive its job, on a machine however busy
OURS = ("tilesweep", "tilesweep-worke", "tileiras")  # the kernel keeps 15 characters

JOB = """\
name: t
archs: [{archs}]
packs:
  - pack: rmsnorm
    dtypes: [f16]
    shapes:
      - {{M: [1024, 2048, 4096], N: 1024}}
  - pack: rmsnorm
    dtypes: [bf16]
    shapes:
      - {{M: [16, 32, 64], N: 1024}}
measure: {{rounds: 5, warmup: 1, seed: 1}}
"""

SMALL_JOB = """\
name: t
archs: [sm_90]
packs:
  - pack: rmsnorm
    dtypes: [f16]
    shapes:
      - {M: [16, 64], N: 1024}
measure: {rounds: 5, warmup: 1, seed: 1}
"""

# While the gate is closed for a word nothing with it gets compiled. The cells of bf16 come last, as
# they are the cheapest: closed for them, a run does all others, and waits.
TILEIRAS = """\
#!/bin/sh
for word; do
    while [ -f "$word" ] && /bin/grep -q -f GATE "$word" 2>/dev/null; do /bin/sleep 0.1; done
done
exec {real} "$@"
"""


class Bench:
    """A cluster, a job file, and what its tables must be."""

    def __init__(self, root, bin_dir, source_dir, archs=("sm_90",), device="sim:h200@0"):
        self.root, self.bin, self.source, self.device = root, bin_dir, source_dir, device
        self.program = bin_dir / "tilesweep"
        self.archs = archs
        self.job = root / "job.yaml"
        self.gate = root / "closed"
        self.fake_toolchain = bin_dir.parent / "fake-toolchain"
        self.env = {
            "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(root), "LC_ALL": "C",
            "TMPDIR": str(root / "tmp"), "SLURM_CONF": str(root / "slurm.conf"),
            "TSW_BIN": str(self.program), "TSW_KERNELS": str(source_dir / "kernels"),
            "TSW_TOOLCHAIN": str(root / "toolchain"), "TSW_CACHE": str(root / "cache"),
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl_tcp_if_include": "lo",
            "OMPI_MCA_oob_tcp_if_include": "lo", "OMPI_MCA_orte_tmpdir_base": str(root / "tmp"),
            "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
            "OMPI_MCA_odls_base_sigkill_timeout": "5"}  # mpirun's 1 s may be too short on a busy machine
        self.job.write_text(JOB.format(archs=", ".join(archs)))
        make_toolchain(self.fake_toolchain, root / "toolchain", TILEIRAS.replace("GATE", str(self.gate)))
        self._make_reference()

    def _make_reference(self):
        """A run in one go, without Slurm, and without filling the cache of the others."""
        ranks = self.device.count(",") + 1
        launcher = ["mpirun", "--oversubscribe", "-n", ranks] if ranks > 1 else []
        run(*launcher, self.program, "run", self.job, "-q", "-o", self.root / "reference",
            "--device", self.device, env=self.env | {"TSW_CACHE": str(self.root / "cache-reference")})

    def submit(self, script, *options, words=(), run_dir="out", **settings):
        command = ["sbatch", "--parsable", *options, self.source / "slurm" / script]
        if script.endswith(".sbatch"):
            command += ["job.yaml", run_dir, "--device", self.device]
        return Job(run(*command, *words, env=self.env | settings, cwd=self.root).stdout.strip())

    def sweep(self, *options, words=(), **settings):
        """The usual: two ranks on two nodes."""
        return self.submit("sweep.sbatch", "--nodes=2", "--gpus-per-node=h200:1", "--cpus-per-gpu=2",
                           *options, words=words, **settings)

    def resume(self, *options, run_dir="out"):
        done = run(self.source / "slurm" / "resume.sh", run_dir, "--parsable", *options, env=self.env,
                   cwd=self.root)
        return Job(done.stdout.strip())

    def close_gate(self, word="DTYPE_BF16"):
        self.gate.write_text(word + "\n")

    def open_gate(self):
        self.gate.unlink()

    def status(self, run_dir="out"):
        try:
            return json.loads((self.root / run_dir / "status.json").read_text())
        except (OSError, ValueError):
            return {"state": "none", "attempt": 0, "cells": {"done": 0}}

    def await_middle(self, job, cells=3, attempt=1, run_dir="out"):
        """Until the cells that can be done are done, and the others wait at the gate."""
        job.await_running()

        def there():
            status = self.status(run_dir)
            return (status["state"] == "running" and status["attempt"] == attempt
                    and status["cells"]["done"] == cells and processes("tileiras"))

        await_true(f"{cells} cells are done and a build waits", there,
                   lambda: f"{job.tell()}; {self.status(run_dir)}")

    def expect(self, job, state, code):
        got = job.await_end()
        assert got == (state, code), f"job {job.number}: {got}, expected {(state, code)}"

    def expect_no_process(self):
        def left():
            return processes(*OURS)

        await_true("no process is left", lambda: not left(),
                   lambda: [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in left()], LINGER_S)

    def expect_second_start(self, job):
        """Of a job that is back in the queue: it ends the run."""
        self.open_gate()
        job.start_now()
        self.expect(job, "COMPLETED", 0)
        self.expect_done(attempts=2)

    def expect_done(self, run_dir="out", attempts=1, ranks=None):
        """The whole job is there, with the tables of the reference."""
        if attempts:
            got = len(list((self.root / run_dir / "attempts").iterdir()))
            assert got == attempts, f"{got} attempts, expected {attempts}"
            status = self.status(run_dir)
            assert status["state"] == "done", status
            assert ranks is None or status["ranks"] == ranks, status
        run(self.program, "check", self.root / run_dir)
        for arch in self.archs:
            name = f"tables/{arch}.json"
            wanted = (self.root / "reference" / name).read_bytes()
            got = (self.root / run_dir / name).read_bytes()
            assert got == wanted, f"{name} of {run_dir} differs from the reference"
        self.expect_no_process()

    def expect_partial(self, cells, after_term=False):
        """What was finished before the end is sealed and can be read. After TERM mpirun gives the ranks of
        other nodes no time to."""
        shown = json.loads(run(self.program, "show", self.root / "out", "--format", "json",
                               env=self.env).stdout)
        rows = shown if isinstance(shown, list) else shown["rows"]
        got = len({(row["shape"], row["variant"]) for row in rows if row["outcome"] == "ok"})
        fewest = 1 if after_term and self.env.get("TSW_LAUNCHER") == "mpirun" else cells
        assert fewest <= got <= cells, f"{got} cells are readable, expected {cells}"

    def logs(self):
        for path in sorted(self.root.glob("*.log")):
            print(f"---- {path.name}", path.read_text(errors="replace"), sep="\n")


# ---- the cases ----

def plain_srun(bench):
    bench.expect(bench.sweep(), "COMPLETED", 0)
    bench.expect_done(ranks=2)


def plain_mpirun(bench):
    bench.expect(bench.sweep(TSW_LAUNCHER="mpirun"), "COMPLETED", 0)
    bench.expect_done(ranks=2)


def one_gpu_per_rank(bench):
    """What ranks see of the GPUs, from a program that stands in for tilesweep."""
    program = bench.root / "show-gpus"
    program.write_text('#!/bin/sh\n'
                       'echo "$(hostname) ${SLURM_LOCALID:-x} ${OMPI_COMM_WORLD_LOCAL_RANK:-x} '
                       '$CUDA_VISIBLE_DEVICES" >"$SEEN/$(hostname).$$"\n')
    program.chmod(0o755)
    wanted = {"srun": {"node1 0 x 0", "node1 1 x 1", "node2 0 x 0", "node2 1 x 1"},
              "mpirun": {"node1 0 0 0,1", "node1 0 1 0,1", "node2 0 0 0,1", "node2 0 1 0,1"}}
    for launcher, lines in wanted.items():
        seen = bench.root / f"seen-{launcher}"
        seen.mkdir()
        for gpus in ("2", "h200:2"):
            job = bench.submit("sweep.sbatch", "--nodes=2", "--nodelist=node1,node2", "--cpus-per-gpu=2",
                               f"--gpus-per-node={gpus}", TSW_BIN=str(program), TSW_LAUNCHER=launcher,
                               SEEN=str(seen))
            bench.expect(job, "COMPLETED", 0)
            got = [path.read_text().strip() for path in seen.iterdir()]
            assert len(got) == 4 and set(got) == lines, f"{launcher}, {gpus} GPUs: {got}"
            for path in seen.iterdir():
                path.unlink()


def exit_codes(bench):
    """The run's exit code is the job's, and only what can go on is put back into the queue."""
    bench.expect(bench.sweep(TSW_LAUNCHER="horse"), "FAILED", 2)
    bench.expect(bench.sweep(words=["--rounds"]), "FAILED", 2)
    bench.expect(bench.sweep(words=["--device", "cuda"]), "FAILED", 3)
    bench.expect(bench.sweep(words=["--budget", "0.001s"], TSW_RESUME="1"), "FAILED", 4)
    bench.close_gate()
    job = bench.sweep(TSW_RESUME="1", TSW_RESTARTS="0")
    bench.await_middle(job, attempt=2)
    run("scancel", "--batch", "--signal=USR1", job.number)
    bench.expect(job, "FAILED", 4)
    bench.open_gate()
    bench.expect(bench.resume(), "COMPLETED", 0)
    bench.expect(bench.sweep(TSW_RESUME="1"), "COMPLETED", 0)  # finds nothing to do
    bench.expect_done(attempts=4)
    said = run(bench.source / "slurm/resume.sh", "out", env=bench.env, cwd=bench.root).stderr
    assert "out is done" in said, said


def submit_hetero(bench):
    """Two GPUs of one type on a node, one of another on a second, in one MPI job."""
    return bench.submit("hetero.sbatch", "--ntasks-per-node=2", "--gpus-per-node=h200:2",
                        "--cpus-per-gpu=2", ":", "--gpus-per-node=a100:1", "--cpus-per-gpu=2")


def outlives_its_ranks(bench, job):
    """Whether a job goes on though its run is done and none of our processes is left."""
    since = None

    def settled():
        nonlocal since
        over = bench.status()["state"] == "done" and not processes(*OURS)
        since = (since or time.monotonic()) if over else None
        return job.is_over() or (over and time.monotonic() - since > LINGER_S)

    await_true(f"job {job.number} or its run is over", settled, job.tell)
    return not job.is_over()


def hetero(bench):
    job = submit_hetero(bench)
    if outlives_its_ranks(bench, job):  # srun of Slurm 22.05 at times never hears that such a step is over
        run("scancel", job.number)
        job.await_end()
        shutil.rmtree(bench.root / "out")
        job = submit_hetero(bench)
    bench.expect(job, "COMPLETED", 0)
    bench.expect_done(ranks=3)


def hetero_requeue(bench):
    bench.close_gate()
    job = submit_hetero(bench)
    bench.await_middle(job, cells=6)
    run("scancel", "--batch", "--signal=USR1", job.number)
    job.await_requeued()
    bench.expect_no_process()
    bench.expect_second_start(job)


def array(bench):
    """One of three parts is cancelled, found missing, resumed, and all are merged."""
    bench.close_gate("FAKETILEIR")
    options = ("--gpus-per-node=h200:1", "--cpus-per-gpu=2")
    parts = [f"out/part-{number}-of-3" for number in (1, 2, 3)]
    job = bench.submit("array.sbatch", "--array=1-3", *options)

    def states():
        return [bench.status(part)["state"] for part in parts]

    await_true("three parts wait at the gate",
               lambda: len(processes("tileiras")) >= 3 and states() == ["running"] * 3, states)
    run("scancel", f"{job.number}_2")
    await_true("one part has ended", lambda: states()[1] == "stopped", states)
    bench.open_gate()
    bench.expect(Job(f"{job.number}_1"), "COMPLETED", 0)
    bench.expect(Job(f"{job.number}_3"), "COMPLETED", 0)
    first = bench.submit("merge.sh", f"--dependency=afterany:{job.number}", words=["out"])
    bench.expect(first, "FAILED", 4)
    again = bench.resume(*options)
    bench.expect(Job(f"{again.number}_2"), "COMPLETED", 0)
    assert len(list((bench.root / parts[0] / "attempts").iterdir())) == 1
    bench.expect(bench.submit("merge.sh", words=["out"]), "COMPLETED", 0)
    bench.expect_done(attempts=None)


def requeue_by_signal(bench):
    """USR1 to the batch script, as --signal sends it, puts the job back into the queue."""
    bench.close_gate()
    job = bench.sweep()
    bench.await_middle(job)
    run("scancel", "--batch", "--signal=USR1", job.number)
    job.await_requeued()
    bench.expect_no_process()
    bench.expect_partial(3)
    bench.expect_second_start(job)


def requeue_by_signal_mpirun(bench):
    bench.env["TSW_LAUNCHER"] = "mpirun"
    requeue_by_signal(bench)


def signal_before_limit(bench):
    """Slurm's own signal ahead of the time limit."""
    bench.close_gate()
    job = bench.sweep("--time=60", "--signal=B:USR1@600")
    bench.await_middle(job)
    run("scontrol", "update", f"jobid={job.number}", "EndTime=now+590")
    job.await_requeued()  # Slurm looks at limits every 30 s
    bench.expect_second_start(job)


def time_limit(bench):
    """The limit itself; not requeued, as it comes together with the signal that should be ahead of it."""
    bench.close_gate()
    job = bench.sweep(TSW_REQUEUE="0")
    bench.await_middle(job)
    run("scontrol", "update", f"jobid={job.number}", "EndTime=now+2")
    state, _ = job.await_end()
    assert state == "TIMEOUT", state
    bench.expect_no_process()
    bench.expect_partial(3, after_term=True)
    bench.open_gate()
    bench.expect(bench.resume(), "COMPLETED", 0)
    bench.expect_done(attempts=2)


def preemption(bench):
    bench.close_gate()
    job = bench.sweep()
    bench.await_middle(job)
    urgent = Job(run("sbatch", "--parsable", "-p", "urgent", "-N", len(bench.gpus), "--exclusive", "-o",
                     "/dev/null", "--wrap", "true", env=bench.env, cwd=bench.root).stdout.strip())
    bench.expect(urgent, "COMPLETED", 0)
    job.await_requeued()
    bench.expect_no_process()
    bench.expect_partial(3, after_term=True)
    bench.expect_second_start(job)


def scancel(bench):
    """Cancelled in mid-run; resumed with another number of ranks."""
    bench.close_gate()
    job = bench.sweep()
    bench.await_middle(job)
    run("scancel", job.number)
    state, _ = job.await_end()
    assert state == "CANCELLED", state
    bench.expect_no_process()
    bench.expect_partial(3, after_term=True)
    bench.open_gate()
    bench.expect(bench.resume("--nodes=1", "--gpus-per-node=h200:1"), "COMPLETED", 0)
    bench.expect_done(attempts=2, ranks=1)


def scancel_mpirun(bench):
    bench.env["TSW_LAUNCHER"] = "mpirun"
    scancel(bench)


def preemption_mpirun(bench):
    bench.env["TSW_LAUNCHER"] = "mpirun"
    preemption(bench)


def lose_node(bench, **settings):
    bench.close_gate()
    job = bench.sweep("--nodelist=node1,node2", **settings)
    bench.await_middle(job)
    bench.cluster.crash("node2")
    run("scontrol", "update", "nodename=node2", "state=down", "reason=test")
    job.await_requeued()
    bench.cluster.boot("node2")
    run("scontrol", "update", "nodename=node2", "state=resume")
    bench.cluster.await_idle()
    bench.expect_second_start(job)


def node_lost(bench):
    """A slurmd dies with all that runs there."""
    lose_node(bench)


def node_lost_mpirun(bench):
    lose_node(bench, TSW_LAUNCHER="mpirun")


def kill_in_middle(bench, name, which, **settings):
    """kill -9 of a process of that name: the job script puts the job back into the queue."""
    bench.close_gate()
    job = bench.sweep(**settings)
    bench.await_middle(job)
    os.kill(processes(name)[which], signal.SIGKILL)
    job.await_requeued()
    bench.expect_no_process()
    bench.expect_second_start(job)


def rank_killed(bench):
    kill_in_middle(bench, "tilesweep", -1)


def rank_aborts(bench):
    """MPI_Abort of a rank ends the job with its code, 70, which is not queued again."""
    scenario = bench.root / "scenario"
    scenario.write_text("pace 1\nrank=1 abort@1\n")
    bench.expect(bench.sweep(TSW_SIM_SCENARIO=str(scenario)), "FAILED", 70)
    bench.expect_no_process()
    bench.expect(bench.resume(), "COMPLETED", 0)
    bench.expect_done(attempts=2)


def srun_killed(bench):
    kill_in_middle(bench, "srun", 0)  # the second is its helper


def mpirun_killed(bench):
    kill_in_middle(bench, "mpirun", 0, TSW_LAUNCHER="mpirun")


def hidden_libraries():
    """What a compute node may lack: MPI and HDF5, by the files that they really are."""
    folder = Path(run("gcc", "-print-file-name=libc.so.6").stdout.strip()).resolve().parent
    for pattern in ("libmpi.so.*", "libopen-*.so.*", "libhdf5*.so.*"):
        yield from {path.resolve() for path in folder.glob(pattern)}
    yield Path(run("ompi_info", "--path", "pkglibdir", "--parsable").stdout.split(":")[-1].strip())


def bundle(bench):
    """The bundle, unpacked elsewhere, on nodes without network, MPI and HDF5; with the real compilers
    where they are installed."""
    real = bench.source / ".deps/toolchain/nvidia/cu13"
    archive = bench.root / "bundle.tar"
    toolchain = real if (real / "bin/tileiras").exists() else bench.fake_toolchain
    run(bench.source / "tools/bundle.sh", bench.bin.parent, archive,
        env=bench.env | {"TSW_BUNDLE_TOOLCHAIN": str(toolchain)},)
    run("tar", "-C", bench.root, "-xf", archive)
    archive.unlink()
    bench.source = bench.root / "elsewhere"  # from now on slurm/ is the bundle's
    (bench.root / "bundle").rename(bench.source)
    bench.job.write_text(SMALL_JOB)
    for name in ("TSW_BIN", "TSW_KERNELS", "TSW_TOOLCHAIN"):
        del bench.env[name]
    bench.cluster.hide(list(hidden_libraries()))
    broken = run(bench.program, "--version", check=False)
    assert broken.returncode != 0, "the libraries are not hidden"
    bench.expect(bench.sweep(), "COMPLETED", 0)
    assert bench.status()["ranks"] == 2
    text = (bench.root / "out/job.yaml").read_text()
    assert text == SMALL_JOB
    run(bench.source / "bin/tilesweep", "check", bench.root / "out", env=bench.env)
    bench.expect_no_process()


CASES = [plain_srun, plain_mpirun, one_gpu_per_rank, exit_codes, hetero, hetero_requeue, array, requeue_by_signal, requeue_by_signal_mpirun,
         signal_before_limit, time_limit, preemption, preemption_mpirun, scancel, scancel_mpirun, node_lost, node_lost_mpirun, rank_killed,
         rank_aborts, srun_killed, mpirun_killed, bundle]


def run_case(case, bin_dir, source_dir):
    root = Path(tempfile.mkdtemp(prefix="tsw-slurm-"))
    gpus = ["h200:2", "h200:2", "h200:1,a100:1", "a100:2"]
    bench = None
    with Cluster(root, gpus) as cluster:
        try:
            if case in (hetero, hetero_requeue):
                bench = Bench(root, bin_dir, source_dir, ("sm_90", "sm_80"), "sim:h200@0,h200@0,a100@0")
            else:
                bench = Bench(root, bin_dir, source_dir)
            bench.cluster, bench.gpus = cluster, gpus
            case(bench)
        except BaseException:
            cluster.logs()
            if bench is not None:
                bench.logs()
            raise
    shutil.rmtree(root, ignore_errors=True)


def main():
    names = {case.__name__: case for case in CASES}
    if len(sys.argv) != 4 or sys.argv[1] not in names:
        print(__doc__, "cases:", *names, sep="\n")
        return 2
    why = missing()
    if why:
        print(f"skipped: {why}")
        return 1 if os.environ.get("TSW_NEED_SLURM") else SKIP
    enter()
    run_case(names[sys.argv[1]], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve())
    print("as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
