#!/usr/bin/env python3
"""What the measure worker does with its time.

    overlap.py TILESWEEP OUT [--device D] [--repeat N] [--parts sweep,sweep30,m108,long]

Fills the compile cache for overlap.yaml (lists of a few configs) and overlap30.yaml (30 configs of matmul), then
runs each warm, twice by `race` and twice by `rounds`; then the 108-config matmul cell cold and warm, by `race` and
`rounds`; then overlap_long.yaml, 5138 cells from the builds of overlap.yaml, warm by `race`. Prints for each run its wall time, cells/s and the share of the worker's time, and of the wall's, that
was measuring, then what takes how long per cell. Writes OUT/overlap.json and keeps the runs in OUT. The goal: at
least 90 % measuring in a warm sweep. Needs h5py.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import sweepfile

HERE = Path(__file__).resolve().parent


def tilesweep_run(args, job, name, protocol, cache):
    """One run; a summary of its sweep, None when the tool refuses."""
    out = args.out / name
    command = [args.tilesweep, "run", str(HERE / f"{job}.yaml"), "-o", str(out), "--device", args.device,
               "--protocol", protocol, "--cache", str(args.out / cache), "-q"]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    wall_s = time.monotonic() - start
    if done.returncode not in (0, 1):
        print(f"skipped: {' '.join(command)}: {done.stderr.strip()[-300:]}", flush=True)
        return None
    (args.out / f"{name}.txt").write_text(done.stdout + done.stderr)
    return summarise(name, wall_s, sweepfile.read(out / "sweep.h5"))


def summarise(name, wall_s, cells):
    usage = {use: sum(cell.usage.get(use, 0) for cell in cells) * 1e-9 for use in sweepfile.USES}
    waves_s = sum(cell.rounds_ns for cell in cells) * 1e-9
    samples_s = sum(cell.interval_ns for cell in cells) * 1e-9
    return {"name": name, "wall_s": wall_s, "cells": len(cells), "usage_s": usage, "rounds_s": waves_s,
            "samples_s": samples_s, "samples": sum(cell.sample_count() for cell in cells),
            "configs": sum(cell.measured_count() for cell in cells), "packs": by_pack(cells)}


def by_pack(cells):
    """ms per cell and use, for each pack."""
    packs = {}
    for pack in sorted({cell.pack for cell in cells}):
        mine = [cell for cell in cells if cell.pack == pack]
        packs[pack] = {use: sum(cell.usage.get(use, 0) for cell in mine) * 1e-6 / len(mine)
                       for use in sweepfile.USES}
        packs[pack]["samples"] = sum(cell.interval_ns for cell in mine) * 1e-6 / len(mine)
    return packs


def measuring(usage):
    return sum(usage[use] for use in sweepfile.MEASURING)


def print_runs(runs):
    print(f"\n{'run':18}{'wall s':>8}{'cells/s':>9}{'worker s':>10}{'measuring':>11}{'of wall':>9}"
          f"{'in samples':>12}")
    for run in runs:
        total = sum(run["usage_s"].values()) or 1e-9
        measured = measuring(run["usage_s"])
        print(f"{run['name']:18}{run['wall_s']:8.2f}{run['cells'] / run['wall_s']:9.1f}{total:10.2f}"
              f"{measured / total:11.1%}{measured / run['wall_s']:9.1%}{run['samples_s'] / total:12.1%}")


def print_parts(runs):
    """ms per cell and use: all cells of a run, then of the last race by pack."""
    rows = [(run["name"], {use: s * 1e3 / run["cells"] for use, s in run["usage_s"].items()}) for run in runs]
    races = [run for run in runs if run["name"].startswith("warm-race")]
    if races:
        rows += [(f"  {pack}", parts) for pack, parts in races[-1]["packs"].items()]
    print(f"\n{'ms per cell':18}" + "".join(f"{use:>10}" for use in sweepfile.USES))
    for name, parts in rows:
        print(f"{name:18}" + "".join(f"{parts[use]:10.2f}" for use in sweepfile.USES))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tilesweep")
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--repeat", type=int, default=2, help="runs of each kind")
    parser.add_argument("--parts", default="sweep,sweep30,m108,long")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    runs = []
    parts = args.parts.split(",")
    for part, job, name in (("sweep", "overlap", "warm"), ("sweep30", "overlap30", "warm30")):
        if part in parts:
            tilesweep_run(args, job, f"fill-{name}", "race", "cache")
            runs += [tilesweep_run(args, job, f"{name}-{protocol}{i}", protocol, "cache")
                     for protocol in ("race", "rounds") for i in range(args.repeat)]
    if "m108" in parts:
        runs += [tilesweep_run(args, "matmul108", f"m108-{protocol}-{kind}", protocol, f"cache108-{protocol}")
                 for protocol in ("race", "rounds") for kind in ("cold", "warm")]
    if "long" in parts:
        tilesweep_run(args, "overlap", "fill-long", "race", "cache")
        runs += [tilesweep_run(args, "overlap_long", f"long-race{i}", "race", "cache") for i in range(args.repeat)]
    runs = [run for run in runs if run is not None]
    print_runs(runs)
    print_parts(runs)
    (args.out / "overlap.json").write_text(json.dumps(runs, indent=1))
    return 0 if runs else 1


if __name__ == "__main__":
    sys.exit(main())
