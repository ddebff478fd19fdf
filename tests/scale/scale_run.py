#!/usr/bin/env python3
"""One run of 64 MPI ranks over 200,000 cells on simulated GPUs: TOOL FAKE_TOOLCHAIN MPIEXEC FLAG.

Prints the coordinator's CPU time per cell and the memory of ranks and workers, and fails when they
are out of bounds, when memory grows with the length of the run, or when a cell is missing.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

RANKS = 64
M_COUNT, N_COUNT = 2000, 100
CELLS = M_COUNT * N_COUNT
COORDINATOR_US_MAX = 500  # of CPU per cell: orders of growth, not a measurement
RANK_MIB_MAX = 256
WORKER_MIB_MAX = 96
GROWTH_MIB_MAX = 12  # from a third of the cells to nine tenths
# status.json is written every two seconds, however many messages come. A busy disk holds up a few.
STATUS_AGE_S, STATUS_AGE_S_MAX, LATE_SHARE_MAX = 10, 60, 0.25
CLOCK = os.sysconf("SC_CLK_TCK")

JOB = f"""name: scale
archs: [sm_90]
packs:
  - pack: rmsnorm
    dtypes: [f16]
    shapes:
      - {{M: {{from: 1, to: {M_COUNT}, step: 1}}, N: {{from: 64, to: {64 * N_COUNT}, step: 64}}}}
measure: {{protocol: rounds, rounds: 3, warmup: 0, seed: 1}}
"""


class Process:
    """One look at a process of the run."""

    def __init__(self, pid, name, rank):
        with open(f"/proc/{pid}/status") as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
        with open(f"/proc/{pid}/stat") as file:
            stat = file.read().rsplit(")", 1)[1].split()
        self.is_worker = name != "tilesweep"
        self.rank = rank
        self.mib = int(fields["RssAnon"].split()[0]) / 1024
        self.cpu_s = (int(stat[11]) + int(stat[12])) / CLOCK


def look(mark):
    """All processes whose environment has the mark."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as file:
                name = file.read().strip()
            if not name.startswith("tilesweep"):
                continue
            with open(f"/proc/{pid}/environ", "rb") as file:
                words = file.read().decode(errors="replace").split("\0")
            if mark in words:
                rank = [w.split("=")[1] for w in words if w.startswith("OMPI_COMM_WORLD_RANK=")]
                found.append(Process(pid, name, int(rank[0]) if rank else -1))
        except (OSError, KeyError, IndexError):
            pass  # it ended meanwhile
    return found


def status_of(run):
    """Cells that are done and the age in seconds, by status.json."""
    try:
        with open(os.path.join(run, "status.json")) as file:
            status = json.load(file)
        return status["cells"]["done"], time.time() - status["updated_s"]
    except (OSError, ValueError, KeyError):
        return 0, 0


class Watch:
    """What the looks at a run add up to."""

    def __init__(self):
        self.rank_mib = self.worker_mib = 0.0
        self.end_mib = 0.0  # of rank 0 with the whole sweep in memory, at the end
        self.early = self.late = None  # (cells, MiB of the largest other rank and of rank 0)
        self.first = self.last = None  # (cells, CPU of rank 0, mean CPU of the others)
        self.status_age_s = 0.0  # at most, while cells are measured
        self.looks = self.late_looks = 0  # with all processes there; with an old status

    def add(self, processes, cells, age_s):
        ranks = [p for p in processes if not p.is_worker]
        workers = [p for p in processes if p.is_worker]
        zero = [p for p in ranks if p.rank == 0]
        others = [p for p in ranks if p.rank > 0]
        self.end_mib = max([self.end_mib] + [p.mib for p in zero])
        # Workers are gone before rank 0 merges; the last status may be some seconds old by then.
        if not zero or len(others) < RANKS - 1 or len(workers) < RANKS or cells == 0 or cells == CELLS:
            return
        self.looks += 1
        self.late_looks += age_s > STATUS_AGE_S
        self.status_age_s = max(self.status_age_s, age_s)
        self.rank_mib = max(self.rank_mib, max(p.mib for p in ranks))
        self.worker_mib = max([self.worker_mib] + [p.mib for p in workers])
        memory = (cells, max(p.mib for p in others), zero[0].mib)
        if self.early is None and cells > CELLS / 3:
            self.early = memory
        if cells < 0.95 * CELLS:
            self.late = memory
        cpu = (cells, zero[0].cpu_s, sum(p.cpu_s for p in others) / len(others))
        self.first = self.first or cpu
        self.last = cpu

    def coordinator_us(self):
        cells = self.last[0] - self.first[0]
        own = self.last[1] - self.first[1]
        as_others = self.last[2] - self.first[2]
        return (own - as_others) / cells * 1e6


def fail(text):
    print("FAILED:", text)
    sys.exit(1)


def main():
    tool, toolchain, mpiexec, flag = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="tsw-scale-") as folder:
        job, run = os.path.join(folder, "job.yaml"), os.path.join(folder, "run")
        with open(job, "w") as file:
            file.write(JOB)
        mark = f"TSW_CACHE={folder}/cache"
        env = dict(os.environ, TSW_TOOLCHAIN=toolchain, TSW_CACHE=f"{folder}/cache")
        command = [mpiexec, flag, str(RANKS), tool, "run", job, "-q", "-o", run, "--device", "sim:h200",
                   "--seal", "5s"]  # what waits to be sealed is no growth
        begin = time.monotonic()
        watch = Watch()
        with open(os.path.join(folder, "log"), "w+") as log:
            with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=log) as process:
                while process.poll() is None:
                    time.sleep(1)
                    watch.add(look(mark), *status_of(run))
            log.seek(0)
            if process.returncode != 0:
                fail(f"exit code {process.returncode}: {log.read()[-2000:]}")
        print(f"{CELLS} cells, {RANKS} ranks: {time.monotonic() - begin:.0f} s in all on "
              f"{os.cpu_count()} cores")
        done = status_of(run)[0]
        if done != CELLS:
            fail(f"{done} cells are done")
        print(f"status.json: {watch.status_age_s:.0f} s old at most, older than {STATUS_AGE_S} s in "
              f"{watch.late_looks} of {watch.looks} looks")
        if watch.status_age_s > STATUS_AGE_S_MAX or watch.late_looks > LATE_SHARE_MAX * watch.looks:
            fail("status.json is old while cells are measured")
        if watch.early is None or watch.late is None or watch.last[0] < CELLS / 2:
            fail(f"the run was over before it could be looked at: first {watch.first}, "
                 f"early {watch.early}, late {watch.late}, last {watch.last}")
        growth = [late - early for early, late in zip(watch.early[1:], watch.late[1:])]
        print(f"coordinator: {watch.coordinator_us():.0f} us of CPU per cell beyond a rank's own work")
        print(f"memory: rank {watch.rank_mib:.0f} MiB at most, worker {watch.worker_mib:.0f} MiB; "
              f"growth from {watch.early[0]} to {watch.late[0]} cells: ranks {growth[0]:+.1f} MiB, "
              f"rank 0 {growth[1]:+.1f} MiB; rank 0 with the whole sweep, at the end: {watch.end_mib:.0f} MiB")
        if watch.coordinator_us() > COORDINATOR_US_MAX:
            fail(f"more than {COORDINATOR_US_MAX} us per cell")
        if watch.rank_mib > RANK_MIB_MAX or watch.worker_mib > WORKER_MIB_MAX:
            fail(f"more than {RANK_MIB_MAX} MiB a rank or {WORKER_MIB_MAX} MiB a worker")
        if max(growth) > GROWTH_MIB_MAX:
            fail(f"memory grows by more than {GROWTH_MIB_MAX} MiB")


main()
