#!/usr/bin/env python3
"""A search of a space against a sweep of all of it: builds, wall time, and the regret of its picks.
usage: search.py TILESWEEP OUT [--device D] [--builds N] [--seeds N]"""
import argparse
import csv
import io
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
MEAN_PERCENT, WORST_PERCENT = 2.0, 6.0  # regret that a search may have


def run(args, job, out, name):
    """One run with a cache of its own: cold."""
    start = time.monotonic()
    subprocess.run([args.tilesweep, "run", job, "-q", "-o", out / name, "--device", args.device, "--cache",
                    out / (name + ".cache")], check=True, stdout=(out / (name + ".txt")).open("w"))
    return time.monotonic() - start


def rows(args, out, name):
    text = subprocess.run([args.tilesweep, "show", out / name, "-f", "csv"], check=True, capture_output=True,
                          text=True).stdout
    return list(csv.DictReader(io.StringIO(text)))


def number(text):
    return float(text) if text not in ("", "nan", "-") else float("inf")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tilesweep")
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--builds", type=int, default=64)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    args.out.mkdir(parents=True)
    job = (HERE / "search.yaml").read_text()
    whole_s = run(args, HERE / "search.yaml", args.out, "whole")
    regret = {(row["shape"], row["config"]): number(row["regret"]) for row in rows(args, args.out, "whole")}
    count = len({config for _, config in regret})
    print(f"whole: {count} configs, {whole_s:.1f} s")
    all_regrets = []
    for seed in range(1, args.seeds + 1):
        name = f"search{seed}"
        text = job.replace("seed: 1", f"seed: {seed}") + f"search: {{builds: {args.builds}, per_generation: 16}}\n"
        (args.out / (name + ".yaml")).write_text(text)
        search_s = run(args, args.out / (name + ".yaml"), args.out, name)
        best = {}
        for row in rows(args, args.out, name):
            key = (number(row["regret"]), number(row["median_ns"]))
            if row["shape"] not in best or key < best[row["shape"]][0]:
                best[row["shape"]] = (key, row["config"])
        regrets = [100 * regret[shape, config] for shape, (_, config) in best.items()]
        all_regrets += regrets
        print(f"seed {seed}: {args.builds} builds, {search_s:.1f} s, regret " +
              ", ".join(f"{shape}: {value:.2f} % ({best[shape][1]})" for shape, value in zip(best, regrets)))
    mean, worst = sum(all_regrets) / len(all_regrets), max(all_regrets)
    good = mean <= MEAN_PERCENT and worst <= WORST_PERCENT
    print(f"{'ok' if good else 'FAILED'}: regret {mean:.2f} % in the mean (at most {MEAN_PERCENT}), {worst:.2f} % at worst "
          f"(at most {WORST_PERCENT}), with {args.builds} of {count} configs")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
