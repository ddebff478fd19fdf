#!/usr/bin/env python3
"""Kills one process of a run at random moments, and demands that nothing is lost (README.md beside this
file).
usage: storm.py SEED KILLS BIN_DIR SOURCE_DIR"""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from fake_toolchain import make_toolchain

JOB = """\
name: storm
archs: [sm_90, sm_80]
packs:
  - pack: rmsnorm
    dtypes: [f16, bf16, f32]
    shapes:
      - {M: [16, 32, 64, 128, 256, 512, 1024, 2048], N: 1024}
measure: {protocol: rounds, rounds: 5, warmup: 1, seed: 1}
"""

# One virtual GPU of each kind, whatever the rank: the tables do not depend on who measured what.
DEVICES = "sim:h200@0,a100@0"
PACE = "pace 1\n"  # a run takes about 2 s
SEAL = "0.2s"
LINGER_S = 20  # so long may a process outlive the kill of what it belongs to, on a busy machine
LIMIT_S = 120  # so long may anything take
ATTEMPTS = 4

# Takes a moment, in a process of its own. While there is a file HELD, compilations beyond the number
# in it wait.
TILEIRAS = """\
#!/bin/sh
[ "$1" = --version ] && exec {real} "$@"
/bin/sleep 0.05
echo >>HELD.calls
while read -r number <HELD && [ $(/usr/bin/wc -l <HELD.calls) -gt $number ]; do /bin/sleep 0.02; done 2>/dev/null
exec {real} "$@"
"""

ENDS_RUN = ("rank", "coordinator", "mpirun")
KINDS = ("worker", "keeper", "compiler", *ENDS_RUN, "abort")


class Failure(Exception):
    """Of a demand on the program."""


def demand(truth, text):
    if not truth:
        raise Failure(text)


class Process:
    """Of /proc. One of ours names the storm's folder in its environment: builds inherit no more than that."""

    def __init__(self, folder):
        stat = (folder / "stat").read_text()
        self.pid = int(folder.name)
        self.name, self.state, parent = re.match(r"\d+ \((.*)\) (\S) (\d+)", stat).groups()
        self.parent = int(parent)
        self.words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        self.environment = (folder / "environ").read_bytes().decode(errors="replace").split("\0")

    def is_a(self, kind):
        if kind in ("worker", "keeper"):
            return self.name == "tilesweep-worke" and {"worker": "measure", "keeper": "build"}[kind] in self.words
        if kind in ("rank", "coordinator"):
            is_first = "OMPI_COMM_WORLD_RANK=0" in self.environment
            return self.name == "tilesweep" and is_first == (kind == "coordinator")
        if kind == "compiler":  # that builds, not one that tells its version at the start
            return self.name == "tileiras" and any(word.startswith("--gpu-name") for word in self.words)
        return self.name == kind


def describe(processes):
    return "; ".join(f"{p.pid} {p.state} {' '.join(p.words)}" for p in processes) or "none"


def descendants(process, everybody):
    family = {process.pid}
    for other in everybody:  # parents come first, but for numbers that went round
        if other.parent in family:
            family.add(other.pid)
    return family - {process.pid}


class Storm:
    """A place to run in, what its tables must be, and how long a run takes."""

    def __init__(self, root, seed, bin_dir, source_dir):
        self.root, self.bin, self.source = root, bin_dir, source_dir
        self.random = random.Random(seed)
        (root / "tmp").mkdir()
        (root / "job.yaml").write_text(JOB)
        self.held, self.calls = root / "held", root / "held.calls"
        make_toolchain(self.bin.parent / "fake-toolchain", root / "toolchain",
                       TILEIRAS.replace("HELD", str(self.held)))
        self.env = {
            "PATH": f"{bin_dir}:/usr/bin:/bin", "HOME": str(root), "LC_ALL": "C", "TMPDIR": str(root / "tmp"),
            "TSW_TOOLCHAIN": str(root / "toolchain"), "TSW_KERNELS": str(source_dir / "kernels"),
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
            "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
        begin = time.monotonic()
        demand(self.start("reference", 3).wait(LIMIT_S) == 0, "the undisturbed run fails")
        self.duration = time.monotonic() - begin
        self.compilations = self.count_compilations()
        self.linger_s = 0.0  # the longest that was seen
        self.tables = self.read_tables("reference")
        demand(len(self.tables) == 2, "the undisturbed run has no tables")

    def start(self, run, ranks, *options, mishap=""):
        """Each rank's log goes to a file of its own."""
        self.calls.write_text("")
        scenario = self.root / f"{run}.scenario"
        scenario.write_text(PACE + mishap)
        script = f'exec tilesweep run job.yaml -v -o {run} "$@" 2>>{run}.log.$OMPI_COMM_WORLD_RANK'
        words = ["mpirun", "-n", str(ranks), "sh", "-c", script, "sh", "--device", DEVICES, "--seal", SEAL,
                 "--cache", f"{run}.cache", *options]
        out = open(self.root / f"{run}.out", "ab")
        with out:
            return subprocess.Popen(words, cwd=self.root, env=self.env | {"TSW_SIM_SCENARIO": str(scenario)},
                                    stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)

    def count_compilations(self):
        """That began since the start."""
        return self.calls.read_text().count("\n")

    def hold(self):
        """After so many compilations as chance says the next one waits for `release`, and with it the run."""
        self.held.write_text(f"{self.random.randrange(self.compilations)}\n")

    def release(self):
        self.held.unlink(missing_ok=True)

    def await_held(self, launched):
        number, end = int(self.held.read_text()), time.monotonic() + LIMIT_S
        while self.count_compilations() <= number:
            demand(launched.poll() is None, f"the run was over, with code {launched.returncode}, at "
                   f"{self.count_compilations()} compilations of {self.compilations}")
            demand(time.monotonic() < end, f"{self.count_compilations()} compilations after {LIMIT_S} s")
            time.sleep(0.02)

    def processes(self):
        """Those alive, oldest first."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                process = Process(folder)
            except OSError:
                continue
            if process.state not in "ZX" and any(self.root.name in line for line in process.environment):
                found.append(process)
        return sorted(found, key=lambda process: process.pid)

    def kill_one(self, kind, launched):
        """As soon as there is one: the pids of what it had started. None: the run is over."""
        end = time.monotonic() + LIMIT_S
        while launched.poll() is None:
            everybody = self.processes()
            demand(time.monotonic() < end, f"after {LIMIT_S} s no {kind} among: {describe(everybody)}")
            found = [process for process in everybody if process.is_a(kind)]
            try:
                if found:
                    victim = self.random.choice(found)
                    os.kill(victim.pid, signal.SIGKILL)
                    return descendants(victim, everybody)
            except ProcessLookupError:
                continue  # it ended meanwhile
            time.sleep(0.005)
        return None

    def expect_gone(self, begin, pids=None):
        """All of ours, or those with a number of pids, within LINGER_S of begin."""
        while True:
            left = [p for p in self.processes() if pids is None or p.pid in pids]
            took_s = time.monotonic() - begin
            if not left:
                self.linger_s = max(self.linger_s, took_s)
                return
            demand(took_s < LINGER_S, f"after {took_s:.0f} s still there: {describe(left)}")
            time.sleep(0.02)

    def clean_up(self):
        for process in self.processes():
            try:
                os.kill(process.pid, signal.SIGKILL)
            except OSError:
                pass

    def read_tables(self, run):
        return {path.name: path.read_bytes() for path in (self.root / run / "tables").glob("*.json")}

    def check(self, run):
        done = subprocess.run(["tilesweep", "check", run], cwd=self.root, env=self.env, capture_output=True,
                              text=True, timeout=LIMIT_S, check=False)
        demand(done.returncode == 0, f"check: exit code {done.returncode}\n{done.stdout}{done.stderr}")


class Account:
    """What the logs of one attempt say of cells: who began, and what was not yet on disk."""

    def __init__(self):
        self.begun, self.records, self.twice = set(), {}, 0
        self.in_hand, self.unsealed = set(), set()

    def read(self, texts):
        for text in texts:
            hand, waiting = set(), set()  # a worker that was killed makes its cell begin once more
            for line in text.splitlines():
                found = re.search(r"cell (\d+) begins: (\d+) configs|cell (\d+) is (finished|left)|sealed ", line)
                if found is None:
                    continue
                if found[1]:
                    cell, records = int(found[1]), int(found[2])
                    self.twice += records * (cell in self.begun)
                    self.begun.add(cell)
                    self.records[cell] = records
                    hand.add(cell)
                elif found[4] == "finished":
                    waiting.add(int(found[3]))
                    hand.discard(int(found[3]))
                elif found[4]:
                    continue  # half done is to be done anew
                else:
                    waiting.clear()
            self.unsealed |= waiting
            self.in_hand |= hand
        return self


def read_logs(storm, run, sizes):
    """The new text of each rank's log; sizes: what was read before."""
    texts = []
    for path in sorted(storm.root.glob(f"{run}.log.*")):
        text = path.read_text(errors="replace")
        texts.append(text[sizes.get(path, 0):])
        sizes[path] = len(text)
    return texts


def abort(storm, run, ranks, cells):
    """A rank gives up the job, by MPI_Abort, after so many cells. False: it did not get as many."""
    rank = storm.random.randrange(ranks)
    code = storm.start(run, ranks, mishap=f"rank={rank} abort@{cells}\n").wait(LIMIT_S)
    if code == 0 and "gives up the job" not in (storm.root / f"{run}.log.{rank}").read_text(errors="replace"):
        return False
    demand(code == 70, f"exit code {code} after MPI_Abort")
    storm.expect_gone(time.monotonic())
    return True


def kill(storm, run, ranks, kind, moment):
    """Without a moment: while a compilation waits. False: the run was over before."""
    if moment is None:
        storm.hold()
    launched = storm.start(run, ranks)
    if moment is None:
        storm.await_held(launched)
    else:
        time.sleep(moment)
    family = storm.kill_one(kind, launched)
    struck = time.monotonic()
    if family is None:
        return False
    if kind in ENDS_RUN:
        launched.wait(LIMIT_S)
        took_s = time.monotonic() - struck
        demand(took_s < LINGER_S, f"the job went on for {took_s:.0f} s after the death of a {kind}")
        storm.expect_gone(struck)
        storm.release()
        return True
    storm.expect_gone(struck, family)
    storm.release()
    code = launched.wait(LIMIT_S)
    # Before it has said hello nobody knows what the worker could have done.
    demand(code == 0 or kind == "worker" and code == 3, f"exit code {code} after the death of a {kind}")
    storm.expect_gone(time.monotonic())
    return True


def strike(storm, run, kind, moment):
    """One run that ends badly, and its resume: the accounts of both. None: it was over before the moment."""
    ranks = storm.random.choice((3, 4))
    sizes = {}
    if kind == "abort":
        struck = abort(storm, run, ranks, 1 if moment is None else storm.random.randint(1, 5))
    else:
        struck = kill(storm, run, ranks, kind, moment)
    if not struck:
        return None
    before = Account().read(read_logs(storm, run, sizes))
    if (storm.root / run / "parts").exists():
        storm.check(run)
    resumed = storm.start(run, storm.random.choice((2, 3, 4)), "--resume")
    demand(resumed.wait(LIMIT_S) == 0, "the resumed run fails")
    storm.expect_gone(time.monotonic())
    storm.check(run)
    demand(storm.read_tables(run) == storm.tables, "the tables differ from those of an undisturbed run")
    return before, Account().read(read_logs(storm, run, sizes)), ranks


def judge(before, after, ranks):
    """At most the cells in hand, one of them ahead, and those since the last seal are made anew."""
    again = before.begun & after.begun
    lost = before.in_hand | before.unsealed
    demand(len(before.in_hand) <= 2 * ranks, f"{ranks} ranks had {len(before.in_hand)} cells in hand")
    demand(again <= lost, f"sealed, yet made anew: cells {sorted(again - lost)}")
    demand(before.twice <= 2 * max(before.records.values(), default=0), "more than two cells were begun twice")
    return again


def one_kill(storm, number, kind):
    latest = 0.5 if kind in ("keeper", "compiler") else 1.0  # builds come first
    moment = storm.random.uniform(0.1, latest) * storm.duration
    begin = time.monotonic()
    for attempt in range(ATTEMPTS):
        done = strike(storm, f"run{number}-{attempt}", kind, moment)
        if done is not None:
            break
        moment = None
    demand(done is not None, f"{ATTEMPTS} runs were over before a {kind} could be struck")
    before, after, ranks = done
    again = judge(before, after, ranks)
    records = sum(before.records[cell] for cell in again) + before.twice
    when = "with a compilation" if moment is None else f"after {moment:4.2f} s"
    print(f"{number:3}: {kind:11} {when}: {len(before.begun):2} cells begun, {len(before.in_hand)} in "
          f"hand, {len(before.unsealed):2} not sealed; made anew {len(again):2} cells, {records:3} records"
          f"; {time.monotonic() - begin:.1f} s", flush=True)
    for path in storm.root.glob(f"run{number}-*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return records, sum(before.records.values())


def main():
    seed, kills = int(sys.argv[1]), int(sys.argv[2])
    root = Path(tempfile.mkdtemp(prefix="tilesweep-storm-"))
    storm, failed = None, False
    try:
        storm = Storm(root, seed, Path(sys.argv[3]).resolve(), Path(sys.argv[4]).resolve())
        print(f"seed {seed}: {kills} kills in runs of {storm.duration:.1f} s", flush=True)
        counts = [one_kill(storm, number, KINDS[(seed + number) % len(KINDS)]) for number in range(1, kills + 1)]
        print(f"{sum(count[0] for count in counts)} of {sum(count[1] for count in counts)} records were made anew; "
              f"nothing lived on for more than {storm.linger_s:.1f} s")
    except (Failure, subprocess.TimeoutExpired) as failure:
        failed = True
        print(f"FAILED: {failure}")
        if storm is not None:
            print(f"there are: {describe(storm.processes())}")
        newest = sorted([*root.glob("*.out"), *root.glob("*.log.*")], key=lambda path: path.stat().st_mtime)
        for path in newest[-5:]:
            print(f"---- the end of {path.name}", *path.read_text(errors="replace").splitlines()[-15:], sep="\n")
    finally:
        if storm is not None:
            storm.clean_up()
        shutil.rmtree(root, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
