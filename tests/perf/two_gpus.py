#!/usr/bin/env python3
"""One job on each of two GPUs of a host, then over both under mpirun: TILESWEEP OUT [--device SPEC].

Prints the speed-up of two ranks over one, how the cells were dealt, whether the tables agree, and how
the two GPUs differ: the ratio of their medians per cell, beside the noise of one GPU against itself.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import time

import sweepfile

HERE = os.path.dirname(os.path.abspath(__file__))


def run(tool, job, out, cache, device, visible=None, ranks=1):
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    if visible is not None:
        env["CUDA_VISIBLE_DEVICES"] = visible
    launcher = ["mpirun", "--bind-to", "none", "-np", str(ranks)] if ranks > 1 else []
    begin = time.monotonic()
    done = subprocess.run(launcher + [tool, "run", job, "-q", "-o", out, "--cache", cache, "--device", device],
                          env=env, stdout=subprocess.DEVNULL, timeout=540)
    wall = time.monotonic() - begin
    if done.returncode != 0:
        raise SystemExit(f"{out}: exit code {done.returncode}")
    cells = {c.name: c for c in sweepfile.read(os.path.join(out, "sweep.h5"))}
    span = max(c.end_ns for c in cells.values()) - min(c.begin_ns for c in cells.values())
    return {"wall_s": wall, "cells_s": span * 1e-9, "cells": cells}


def ratios(one, other):
    """Of the medians of all configs that both timed, per cell: the median over configs."""
    found = {}
    for name, cell in one["cells"].items():
        twin = other["cells"].get(name)
        if twin is None:
            continue
        pairs = [twin.median(c) / cell.median(c) for c in cell.timed() if c in twin.timed()]
        if pairs:
            found[name] = statistics.median(pairs)
    return found


def describe(what, found):
    logs = sorted(math.log(r) for r in found.values())
    if not logs:
        print(f"{what}: no cell in common")
        return None
    middle = statistics.median(logs)
    spread = statistics.median(abs(x - middle) for x in logs) * 1.4826
    facts = {"cells": len(logs), "median_percent": 100 * math.expm1(middle),
             "spread_percent": 100 * spread, "least_percent": 100 * math.expm1(logs[0]),
             "most_percent": 100 * math.expm1(logs[-1])}
    print(f"{what}: {facts['cells']} cells, median {facts['median_percent']:+.2f} %, spread (MAD) "
          f"{facts['spread_percent']:.2f} %, from {facts['least_percent']:+.2f} to "
          f"{facts['most_percent']:+.2f} %")
    return facts


def same_winners(one, other):
    same = sum(1 for name, cell in one["cells"].items()
               if name in other["cells"] and cell.pick() == other["cells"][name].pick())
    return same, len(one["cells"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("out")
    parser.add_argument("--job", default=os.path.join(HERE, "two_gpus.yaml"))
    parser.add_argument("--device", default="auto")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    cache = os.path.join(args.out, "cache")

    def go(name, **how):
        result = run(args.tool, args.job, os.path.join(args.out, name), cache, args.device, **how)
        print(f"{name}: {len(result['cells'])} cells in {result['cells_s']:.2f} s, "
              f"{result['wall_s']:.1f} s with start and end", flush=True)
        return result

    go("warm-up", visible="0")  # compiles; its times are not used
    first, again = go("gpu0", visible="0"), go("gpu0-again", visible="0")
    second = go("gpu1", visible="1")
    both = go("both", ranks=2)
    facts = {}
    for what in ("cells_s", "wall_s"):
        alone = [result[what] for result in (first, again, second)]
        facts[what] = {"gpu0": first[what], "gpu0_again": again[what], "gpu1": second[what], "both": both[what],
                       "speed_up": statistics.mean(alone) / both[what]}
    print(f"two ranks are {facts['cells_s']['speed_up']:.2f} times as fast as one over the cells, "
          f"{facts['wall_s']['speed_up']:.2f} times with start and end")
    facts["one_gpu_twice"] = describe("GPU 0 against itself", ratios(first, again))
    facts["across"] = describe("GPU 1 against GPU 0", ratios(first, second))
    facts["both"] = describe("both GPUs against GPU 0 alone", ratios(first, both))
    for name, other in (("GPU 0 again", again), ("GPU 1", second), ("both", both)):
        print("picks of GPU 0 that %s shares: %d of %d" % (name, *same_winners(first, other)))
    with open(os.path.join(args.out, "two_gpus.json"), "w") as file:
        json.dump(facts, file, indent=1)


main()
