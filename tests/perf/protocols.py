#!/usr/bin/env python3
"""Compares the measuring protocols on one GPU: what each costs and what its picks are worth.

    protocols.py TILESWEEP OUT [--device D] [--protocols P,P..] [--budget SECONDS]

Runs every protocol over the cells of protocols30.yaml, protocols108.yaml and protocols_lists.yaml with a
filled cache, so that only the protocol differs. Then the picks of all of them, the best three by rounds and the best three by
race are timed in 200 paired rounds in a fresh process: the regret of a pick is the median ratio to the
best of these. Prints tables; writes OUT/protocols.json and keeps the runs in OUT. Needs h5py.
"""

import argparse
import json
import math
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

import sweepfile

HERE = Path(__file__).resolve().parent
SPACES = ("protocols30", "protocols108")
LISTS = ("protocols_lists",)
JOBS = SPACES + LISTS
PROTOCOLS = ("race", "rounds", "cutile", "kt7", "fi10", "tunable", "do_bench")
LONG_NS = 25000
# What is summed up together: its jobs, and whether the best config takes LONG_NS or more.
KINDS = {"short": (SPACES, False), "long": (SPACES, True),
         "short lists": (LISTS, False), "long lists": (LISTS, True)}
GOALS = {"long": 5, "short": 3} # x cutile


def tilesweep_run(args, job, out, protocol=None):
    """Wall time in s; None with a message when the tool refuses."""
    command = [args.tilesweep, "run", str(job), "-o", str(out), "--device", args.device, "-q"]
    if protocol is not None:
        command += ["--protocol", protocol]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode not in (0, 1):
        print(f"skipped: {' '.join(command)}: {done.stderr.strip()[-300:]}", flush=True)
        return None
    return time.monotonic() - start


# ---- what the protocols did ----


def measure_all(args):
    """{(job, protocol): (wall s, cells)}"""
    results = {}
    for job in args.jobs:
        path = HERE / f"{job}.yaml"
        tilesweep_run(args, path, args.out / f"{job}-warm", args.protocols[0])  # fills the cache
        for protocol in args.protocols:
            if time.monotonic() > args.deadline:
                print(f"skipped: {job} {protocol}: the budget is spent", flush=True)
                continue
            out = args.out / f"{job}-{protocol}"
            wall = tilesweep_run(args, path, out, protocol)
            if wall is not None:
                results[job, protocol] = (wall, sweepfile.read(out / "sweep.h5"))
                print(f"{job} {protocol}: {wall:.1f} s", flush=True)
    return results


# ---- the judge ----


def to_row(config):
    return "{" + ", ".join(word.replace("=", ": ") for word in config.split()) + "}"


def variant_keys(variant):
    """Flags of a variant as a line of a job; the dtype apart. Dims that are static are in the shape."""
    words = dict(word.split("=") for word in variant.split())
    return words.pop("dtype"), words


def judge_job(name, candidates, rounds):
    lines = [f"name: judge-{name}", "purpose: research", "archs: [sm_90]", "packs:"]
    for (pack, variant, shape), configs in candidates.items():
        dtype, _ = variant_keys(variant)
        research = HERE / "packs" / pack
        lines += [f"  - pack: {research if research.is_dir() else pack}", f"    dtypes: [{dtype}]",
                  f"    shapes: [{to_row(shape)}]", "    space:"]
        lines += [f"      - {to_row(config)}" for config in sorted(configs)]
    lines.append(f"measure: {{protocol: rounds, rounds: {rounds}, warmup: 3, seed: 2}}")
    return "\n".join(lines) + "\n"


def candidates_of(results, job):
    """The picks, and the best three of the two thorough protocols, by cell."""
    found = {}
    for (other, protocol), (_, cells) in results.items():
        if other != job:
            continue
        for cell in cells:
            configs = found.setdefault((cell.pack, cell.variant, cell.shape), set())
            if cell.pick() is not None:
                configs.add(cell.pick())
            if protocol in ("race", "rounds"):
                configs.update(cell.timed()[:3])
    return {key: configs for key, configs in found.items() if configs}


def judge(args, results):
    """{(job, pack, variant, shape): cell of the judge}"""
    judged = {}
    for job in args.jobs:
        candidates = candidates_of(results, job)
        if not candidates:
            continue
        path = args.out / f"judge-{job}.yaml"
        path.write_text(judge_job(job, candidates, args.rounds))
        out = args.out / f"judge-{job}"
        wall = tilesweep_run(args, path, out)
        if wall is None:
            continue
        print(f"judge of {job}: {wall:.1f} s", flush=True)
        for cell in sweepfile.read(out / "sweep.h5"):
            judged[job, cell.pack, cell.variant, cell.shape] = cell
    return judged


def paired(cell, config, other):
    """Median of log(config / other) over common rounds; None without any."""
    logs = cell.paired(config, other)
    return statistics.median(logs) if logs else None


def even_odd(cell, config):
    """A/A: rounds 2i against 2i + 1 of one config, as a ratio less 1."""
    values = [ns for _, ns in sorted(cell.series(config).items())]
    logs = [math.log(values[i + 1] / values[i]) for i in range(0, len(values) - 1, 2)]
    return math.expm1(statistics.median(logs)) if logs else 0.0


# ---- tables ----


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, math.ceil(share * len(values)) - 1)] if values else math.nan


def bootstrap_mean(values, seed=1, repeats=2000):
    if not values:
        return (math.nan, math.nan)
    rng = random.Random(seed)
    means = sorted(statistics.fmean(rng.choices(values, k=len(values))) for _ in range(repeats))
    return means[int(0.025 * repeats)], means[int(0.975 * repeats)]


def regrets(results, judged, protocol):
    found = []
    for (job, other), (_, cells) in results.items():
        if other != protocol:
            continue
        for cell in cells:
            court = judged.get((job, cell.pack, cell.variant, cell.shape))
            pick = court.followed(cell.pick()) if court is not None and cell.pick() else None
            if pick is not None and court.series(pick):
                ratio = paired(court, pick, court.best())
                found.append((job, cell.name, max(0.0, math.expm1(ratio or 0.0))))
    return found


def rates(results, judged, protocol, jobs, is_long):
    """Configs, samples and seconds of rounds over the cells of one kind."""
    configs = samples = 0
    seconds = first = 0.0
    for (job, other), (_, cells) in results.items():
        for cell in cells if other == protocol and job in jobs else ():
            court = judged.get((job, cell.pack, cell.variant, cell.shape))
            best_ns = court.median(court.best()) if court is not None and court.timed() else None
            if best_ns is None or (best_ns >= LONG_NS) != is_long:
                continue
            configs += cell.measured_count()
            samples += cell.sample_count()
            seconds += cell.rounds_ns * 1e-9
            first += cell.first_ns * 1e-9
    return {"configs": configs, "samples": samples, "gpu_s": seconds,
            "configs_per_gpu_s": configs / seconds if seconds else math.nan,
            "with_first_per_gpu_s": configs / (seconds + first) if seconds else math.nan,
            "samples_per_config": samples / configs if configs else math.nan}


def summarise(results, judged, protocols):
    rows = {}
    for protocol in protocols:
        own = regrets(results, judged, protocol)
        if not own:
            continue
        values = [value for _, _, value in own]
        low, high = bootstrap_mean(values)
        rows[protocol] = {
            "cells": len(own), "regret_mean": statistics.fmean(values), "regret_mean_95": [low, high],
            "regret_p95": percentile(values, 0.95), "regret_max": max(values),
            "regrets": own,
            **{kind: rates(results, judged, protocol, *which) for kind, which in KINDS.items()},
            "wall_s": sum(wall for (_, p), (wall, _) in results.items() if p == protocol),
        }
    for row in rows.values():
        for kind in KINDS:
            base = rows.get("cutile", {}).get(kind, {}).get("configs_per_gpu_s", math.nan)
            row[kind]["x_cutile"] = row[kind]["configs_per_gpu_s"] / base
    return rows


def print_protocols(rows):
    print("\nconfigs per second of rounds (GPU time of the protocol, without compiling and verifying);"
          f"\nshort and long: cells whose best config takes less, or {LONG_NS // 1000} us and more;"
          " lists: those of two to four configs")
    print(f"{'protocol':9}" + "".join(f" {kind + '/s':>14} {'x cutile':>8} {'smp/cfg':>7}" for kind in KINDS))
    for protocol, row in rows.items():
        print(f"{protocol:9}" + "".join(
            f" {row[kind]['configs_per_gpu_s']:14.0f} {row[kind]['x_cutile']:8.2f}"
            f" {row[kind]['samples_per_config']:7.1f}" for kind in KINDS))
    print(f"{'':9} {'cells':>5} {'regret %: mean':>14} {'(95 %)':>14} {'p95':>6} {'max':>6} {'wall s':>7}")
    for protocol, row in rows.items():
        low, high = row["regret_mean_95"]
        print(f"{protocol:9} {row['cells']:5} {100 * row['regret_mean']:14.3f}"
              f" {f'{100 * low:.3f}..{100 * high:.3f}':>14} {100 * row['regret_p95']:6.3f}"
              f" {100 * row['regret_max']:6.3f} {row['wall_s']:7.1f}")


def print_goals(rows, control):
    """The goals for it, and what came out."""
    race = rows.get("race")
    if race is None:
        return
    print("\nrace against its goals")
    for kind, goal in GOALS.items():
        first = race[kind]["with_first_per_gpu_s"]
        print(f"  {kind}: {race[kind]['x_cutile']:.2f} x cutile (goal {goal}); {first:.0f} configs/s with the"
              " launches that verification needs anyway counted in")
    print(f"  regret p95 {100 * race['regret_p95']:.3f} % (goal 0.5)")
    inside = sum(abs(row[0]) <= 0.003 for row in control.values())
    print(f"  A/A control within 0.3 %: {inside} of {len(control)} cells")


def slot_table(judged):
    """Median ratio to the config's own median, by slot of the round, over all cells of the judge."""
    by_slot = {}
    for cell in judged.values():
        for config in cell.timed():
            middle = cell.median(config)
            for stage, _, slot, ns in cell.samples[config]:
                if stage in sweepfile.DECIDE:
                    by_slot.setdefault(slot, []).append(ns / middle - 1)
    return {slot: [statistics.median(v), len(v)] for slot, v in sorted(by_slot.items())}


def hodges_lehmann(values):
    """Median of the means of all pairs: what the race decides by. Of three values the median."""
    if len(values) < 4:
        return statistics.median(values)
    return statistics.median((a + b) / 2 for i, a in enumerate(values) for b in values[:i + 1])


def control_of_races(results):
    """The hidden duplicate of the leader against the leader, in the finals, by cell: ratio less 1 by
    Hodges-Lehmann and by the median, and the number of rounds."""
    found = {}
    for (job, protocol), (_, cells) in results.items():
        for cell in cells if protocol == "race" else ():
            logs = []
            for config in cell.samples:
                control = {r: ns for s, r, _, ns in cell.samples[config] if s == "control"}
                final = {r: ns for s, r, _, ns in cell.samples[config] if s == "final"}
                logs += [math.log(control[r] / final[r]) for r in control if r in final]
            if logs:
                found[f"{job} {cell.name}"] = (math.expm1(hodges_lehmann(logs)),
                                               math.expm1(statistics.median(logs)), len(logs))
    return found


def print_controls(slots, control, pairs):
    print("\nslots of the judge's rounds: median against the config's own median, %")
    print("  " + "  ".join(f"{slot}: {100 * ratio:+.3f} ({n})" for slot, (ratio, n) in slots.items()))
    print("\nA/A control of each final of race: Hodges-Lehmann and median, %; rounds")
    for name, (middle, median, rounds) in sorted(control.items()):
        print(f"  {100 * middle:+7.3f} {100 * median:+7.3f} {rounds:4}  {name}")
    for what, values in (("control against leader, finals of race",
                          {name: row[0] for name, row in control.items()}),
                         ("judge's winner, rounds 2i + 1 against 2i", pairs)):
        if values:
            worst = max(values, key=lambda name: abs(values[name]))
            print(f"A/A {what}: median {100 * statistics.median(values.values()):+.3f} %,"
                  f" worst {100 * values[worst]:+.3f} % ({worst}), {len(values)} cells")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tilesweep")
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--protocols", default=",".join(PROTOCOLS), help="default: %(default)s")
    parser.add_argument("--jobs", default=",".join(JOBS), help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=200, help="of the judge (default: %(default)s)")
    parser.add_argument("--budget", type=float, default=170, metavar="SECONDS",
                        help="no protocol is begun after it (default: %(default)s)")
    args = parser.parse_args()
    args.protocols, args.jobs = args.protocols.split(","), args.jobs.split(",")
    args.deadline = time.monotonic() + args.budget
    args.out.mkdir(parents=True, exist_ok=False)
    results = measure_all(args)
    judged = judge(args, results)
    if not judged:
        sys.exit("nothing was judged")
    rows = summarise(results, judged, args.protocols)
    slots, control = slot_table(judged), control_of_races(results)
    pairs = {f"{key[0]} {cell.name}": even_odd(cell, cell.best()) for key, cell in judged.items()}
    print_protocols(rows)
    print_controls(slots, control, pairs)
    print_goals(rows, control)
    picks = {f"{job} {protocol}": {cell.name: cell.pick() for cell in cells}
             for (job, protocol), (_, cells) in results.items()}
    (args.out / "protocols.json").write_text(json.dumps(
        {"protocols": rows, "slots": slots, "control": control, "even_odd": pairs, "picks": picks},
        indent=1))


if __name__ == "__main__":
    main()
