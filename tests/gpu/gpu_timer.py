#!/usr/bin/env python3
"""Our timer beside CUPTI's on kernels of some microseconds to some milliseconds.

gpu_timer.py TILESWEEP [DEVICE]      exit 0: they agree, 1: not, 77: no GPU, or no CUPTI
"""
import subprocess
import sys

CELLS = [
    ["rmsnorm", "M=64", "N=4096"],
    ["rmsnorm", "M=8192", "N=8192"],
    ["matmul", "M=512", "N=512", "K=512"],
    ["matmul", "M=2048", "N=2048", "K=2048"],
    ["matmul", "M=8192", "N=8192", "K=8192"],
]
ABSENT = 3


def main():
    device = sys.argv[2] if len(sys.argv) > 2 else "cuda"
    worst = 0
    for cell in CELLS:
        done = subprocess.run([sys.argv[1], "bench", *cell, "-q", "--device", device, "--check-timer"],
                              capture_output=True, text=True)
        timers = [line for line in done.stdout.splitlines() if line.startswith("  timer")]
        print(" ".join(cell), *timers, done.stderr, sep="\n")
        if done.returncode == ABSENT:
            return 77
        worst = max(worst, done.returncode if timers else 1)
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())
