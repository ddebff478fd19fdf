#!/usr/bin/env python3
"""A hang, an illegal address, a misaligned access and a kernel too large for the memory between good
configs: the good ones' medians against those of runs without the bad ones.

gpu_neighbours.py TILESWEEP [DEVICE]      exit 0: as expected, 1: not, 77: no GPU
"""
import itertools
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NO_GPU = 3  # exit code for an environment that lacks something
OUTCOMES = {1: "run_timeout", 2: "device_lost", 3: "device_lost", 4: "out_of_memory"}  # by BAD
# Runs that happen to agree better say no more than this; the model of a simulated GPU gives each cell
# a drift of its own.
NOISE_MIN = {"cuda": 0.005}
NOISE_MIN_SIMULATED = 0.02


def run(program, job, folder, device, **env):
    done = subprocess.run([program, "run", HERE / job, "-o", folder / "run", "--device", device,
                           "--cache", folder / "cache"], capture_output=True, text=True, env=os.environ | env)
    if done.returncode == NO_GPU:
        print(done.stderr, end="")
        sys.exit(77)
    shown = subprocess.run([program, "show", folder / "run", "--format", "json"], check=True,
                           capture_output=True, text=True)
    records = json.loads(shown.stdout)
    shutil.rmtree(folder / "run")
    return {record["config"]: record for record in records}


def knob(config, name):
    return int(dict(word.split("=") for word in config.split())[name])


def worst(one, other):
    """Largest difference of medians, as a log ratio, over the good configs."""
    return max(abs(math.log(other[c]["median_ns"] / one[c]["median_ns"])) for c in one if knob(c, "BAD") == 0)


def main():
    program = sys.argv[1]
    device = sys.argv[2] if len(sys.argv) > 2 else "cuda"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        # A scenario, which makes them bad on a simulated GPU, is not for the job without them.
        alone = [run(program, "neighbours_alone.yaml", folder, device, TSW_SIM_SCENARIO="") for _ in range(3)]
        mixed = run(program, "neighbours.yaml", folder, device)
        alone.append(run(program, "neighbours_alone.yaml", folder, device, TSW_SIM_SCENARIO=""))
    bad = 0
    for config, record in mixed.items():
        want = OUTCOMES.get(knob(config, "BAD"), "ok")
        good = record["outcome"] == want
        bad += not good
        print("ok  " if good else "FAIL", config, record["outcome"], record["detail"])
        if want == "ok" and good:
            print("     ", *(f"{run[config]['median_ns'] / 1000:.2f}" for run in alone), "us alone,",
                  f"{record['median_ns'] / 1000:.2f} us among the bad")
    if bad == 0:
        noise = max(NOISE_MIN.get(device, NOISE_MIN_SIMULATED), *(worst(a, b) for a, b in itertools.combinations(alone, 2)))
        apart = min(worst(run, mixed) for run in alone)
        print(f"runs without the bad ones differ by {100 * noise:.2f} % at most; "
              f"among the bad ones: {100 * apart:.2f} %")
        bad = apart > noise
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
