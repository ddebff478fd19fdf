#!/usr/bin/env python3
"""Joules per launch of the configs that objective energy tries, and how far they repeat.

    energy.py TILESWEEP OUT [--device D] [--runs N]

Runs energy.yaml N times (2), the builds from a cache after the first. For each config that was tried: energy per
launch in mJ, its spread over all rounds of all runs, mean power, time per launch within the blocks, and both ratios to
the baseline; then how far its medians of the runs lie apart, and whether the runs agree on the pick. Writes
OUT/energy.json and keeps the runs in OUT. The goal: spread over rounds at most 2 %, medians of two runs within 1 %.
Needs h5py.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import sweepfile

HERE = Path(__file__).resolve().parent


def run(args, number):
    out = args.out / f"run{number}"
    command = [args.tilesweep, "run", str(HERE / "energy.yaml"), "-o", str(out), "--device", args.device,
               "--cache", str(args.out / "cache"), "-q"]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    (args.out / f"run{number}.txt").write_text(done.stdout + done.stderr)
    if done.returncode != 0:
        print(f"exit {done.returncode}: {' '.join(command)}: {done.stderr.strip()[-400:]}")
        return None
    print(f"run {number}: {time.monotonic() - start:.1f} s")
    return {cell.name: cell for cell in sweepfile.read(out / "sweep.h5")}


def spread(values):
    return max(values) / min(values) - 1


def describe(cells):
    """Of the same cell in all runs: a row for each config that any of them tried."""
    rows = {}
    for cell in cells:
        for config, blocks in cell.energy.items():
            if blocks:
                rows.setdefault(config, []).append(blocks)
    baseline = next((c for c, index in cells[0].indices.items() if index == 0), None)
    result = {}
    for config, runs in rows.items():
        blocks = [block for blocks in runs for block in blocks]
        medians = [statistics.median(block["mj"] for block in one) for one in runs]
        result[config] = {
            "mj": statistics.median(block["mj"] for block in blocks),
            "watts": statistics.median(block["watts"] for block in blocks),
            "ns": statistics.median(block["ns"] for block in blocks),
            "blocks": blocks, "runs": len(runs), "spread": max(spread([b["mj"] for b in one]) for one in runs),
            "runs_apart": spread(medians), "is_baseline": config == baseline}
    return result


def show(name, rows, picks):
    print(f"\n{name}\n  {'mJ':>9} {'W':>6} {'us':>8}  x baseline: {'mJ':>6} {'time':>6}   rounds   runs  config")
    base = next((row for row in rows.values() if row["is_baseline"]), None)
    for config, row in sorted(rows.items(), key=lambda item: item[1]["mj"]):
        ratios = [base[key] / row[key] if base else float("nan") for key in ("mj", "ns")]
        print(f"  {row['mj']:9.3f} {row['watts']:6.1f} {row['ns'] / 1e3:8.2f}              {ratios[0]:6.3f} {ratios[1]:6.3f}"
              f"  {100 * row['spread']:5.2f} % {100 * row['runs_apart']:5.2f} %  {config}"
              f"{' (baseline)' if row['is_baseline'] else ''}")
    print(f"  picks: {'; '.join(str(pick) for pick in picks)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tilesweep")
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--runs", type=int, default=2)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    runs = [run(args, number) for number in range(1, args.runs + 1)]
    if not runs or None in runs:
        return 1
    report = {}
    for name in runs[0]:
        cells = [cells[name] for cells in runs]
        rows = describe(cells)
        picks = [cell.pick() for cell in cells]
        show(name, rows, picks)
        report[name] = {"configs": rows, "picks": picks}
    (args.out / "energy.json").write_text(json.dumps(report, indent=1))
    rows = [row for cell in report.values() for row in cell["configs"].values()]
    worst, apart = (max((row[key] for row in rows), default=1) for key in ("spread", "runs_apart"))
    met = worst <= 0.02 and apart <= 0.01
    print(f"\nspread over rounds at most {100 * worst:.2f} % (goal 2 %), medians of runs within {100 * apart:.2f} %"
          f" (goal 1 %): {'met' if met else 'missed'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
