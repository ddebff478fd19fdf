#!/usr/bin/env python3
"""A clock that is locked slows a matmul, and is free again after the end and after a kill.

gpu_clocks.py TILESWEEP [MHZ]      exit 0: as expected, 1: not, 77: no GPU, or no right to lock
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

SHAPE = ["matmul", "M=4096", "N=4096", "K=4096"]
NO_RIGHT = 3


def bench(program, *options):
    done = subprocess.run([program, "bench", *SHAPE, "-q", "--device", "cuda", *options],
                          capture_output=True, text=True)
    print(done.stderr, end="")
    return done


def median_ms(done):
    """Of the record line."""
    found = re.search(r"median\S*?[=: ]+([0-9.]+)", done.stdout.splitlines()[-1])
    return float(found.group(1)) if found else None


def time_of(program, clocks):
    done = bench(program, "--clocks", clocks, "--print-record", "--rounds", "200")
    print(f"{clocks}: {done.stdout.splitlines()[-1] if done.stdout else done.returncode}")
    return median_ms(done) if done.returncode == 0 else None


def supported(program, mhz):
    """That clock or the nearest one; None when the clock cannot be locked here."""
    done = bench(program, "--clocks", f"lock:{mhz}", "--rounds", "1")
    nearest = re.search(r"the nearest is (\d+)", done.stderr)
    if done.returncode == NO_RIGHT:
        return None
    return int(nearest.group(1)) if nearest else mhz


def holder_of(pid):
    """Pid of the process that holds the lock."""
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        if b"clocks" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0"):
            return child
    return None


def kill_while_locked(program, mhz):
    """Kills a bench once its clock is locked; waits for the holder's end."""
    child = subprocess.Popen([program, "bench", *SHAPE, "-q", "--device", "cuda", "--clocks", f"lock:{mhz}",
                              "--rounds", "100000"], stdout=subprocess.DEVNULL)
    holder = None
    while holder is None and child.poll() is None:
        holder = holder_of(child.pid)
        time.sleep(0.01)
    time.sleep(2)  # it is measuring by now
    child.send_signal(signal.SIGKILL)
    child.wait()
    deadline = time.monotonic() + 20
    while holder is not None and os.path.exists(f"/proc/{holder}") and time.monotonic() < deadline:
        time.sleep(0.05)
    return holder is not None and not os.path.exists(f"/proc/{holder}")


def main():
    program = sys.argv[1]
    mhz = supported(program, int(sys.argv[2]) if len(sys.argv) > 2 else 1200)
    if mhz is None:
        return 77
    free = time_of(program, "free")
    locked = time_of(program, f"lock:{mhz}")
    after_end = time_of(program, "free")
    gone = kill_while_locked(program, mhz)
    after_kill = time_of(program, "free")
    checks = {
        "all were measured": None not in (free, locked, after_end, after_kill),
        "the holder ended by itself": gone,
    }
    if checks["all were measured"]:
        checks["locked is slower"] = locked > 1.1 * free
        checks["free after the end"] = after_end < 1.05 * free
        checks["free after the kill"] = after_kill < 1.05 * free
    for what, good in checks.items():
        print("ok  " if good else "FAIL", what)
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder
        code = main()
    sys.exit(code)
