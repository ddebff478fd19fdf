#!/usr/bin/env python3
"""The shipped packs as a release sees them: verified, tuned, and judged against the fixed config.

    release.py TILESWEEP OUT [--job JOB] [--device D] [--parts PART,..] [--budget SECONDS]

Every part but the first two needs what the sweep found:
  calibrate   the roof of this GPU
  sweep       JOB (release.yaml) by race, with an empty cache
  ranking     the same cubins by rounds, one shape per pack and dtype: where the race's pick stands among all
              configs, and what the table's config gains over the fixed one
  fixed       DISABLE_AUTOTUNE=1 on the quickest shape of each pack: the fixed config alone, verified
  trimmed     each pack with the configs of its table alone, with an empty cache: the time that tuning takes

Prints tables; writes cells.csv, dtypes.csv, packs.csv, ranking.csv, all configs (sweep.csv.gz), the release table and
the calibration into OUT. Exit code 1: a config failed, or something ran that should not. Needs h5py.
"""

import argparse
import collections
import csv
import gzip
import io
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import h5py

import sweepfile

HERE = Path(__file__).resolve().parent
PARTS = ("calibrate", "sweep", "ranking", "fixed", "trimmed")
USABLE = ("ok", "alias")
BAND = (0.98, 1.02)  # a gain within it is none (docs/rules.md)
LOOSE = 0.1  # what single timings vary by
TUNING_S = 25.0  # that a trimmed pack may take
VERDICT = re.compile(r"^(\S+) on sm_\d+[^\n]*\n(?:(?!^\S)[^\n]*\n)*?"
                     r"  verdict (\S+): [^\n]*; (\S+) %, expected (.*)$", re.M)


class Broken(Exception):
    pass


# ---- the tool ----


def tool(args, name, *words, env=()):
    """Its standard output, which is kept in OUT/logs with what it said besides."""
    command = [args.tilesweep, *map(str, words)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=400,
                              env={**os.environ, "TSW_CALIBRATIONS": str(args.work / "calibration"), **dict(env)})
    except subprocess.TimeoutExpired:
        raise Broken(f"{name}: no end within 400 s") from None
    (args.out / "logs" / f"{name}.txt").write_text(done.stdout + done.stderr)
    if done.returncode not in (0, 1):
        raise Broken(f"{name}: exit code {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


def sweep(args, name, job, cache="cache", env=()):
    """(wall s, run folder, what it printed)"""
    start = time.monotonic()
    printed = tool(args, name, "run", job, "-o", args.work / name, "--cache", args.work / cache, "-q",
                   "--device", args.device, env=env)
    return time.monotonic() - start, args.work / name, printed


def to_row(words):
    return "{" + ", ".join(word.replace("=", ": ") for word in words.split()) + "}"


def job_text(name, cells, measure="{seed: 2}", spaces=None):
    """A job over these cells, with all flags; spaces: {pack: configs} instead of the lists."""
    lines = [f"name: {name}", f"purpose: {'research' if spaces else 'release'}", "archs: [sm_90]", "packs:"]
    shapes = collections.defaultdict(dict)
    for cell in cells:
        shapes[cell.pack, dtype_of(cell)][cell.shape] = None
    for (pack, dtype), rows in shapes.items():
        lines += [f"  - pack: {pack}", f"    dtypes: [{dtype}]", "    shapes:"]
        lines += [f"      - {to_row(row)}" for row in rows]
        if spaces:
            lines += ["    space:"] + [f"      - {to_row(config)}" for config in spaces[pack]]
    return "\n".join([*lines, f"measure: {measure}", "limits: {cell: 60s, run: 5m}"]) + "\n"


def write_job(args, name, text):
    path = args.out / "logs" / f"{name}.yaml"
    path.write_text(text)
    return path


# ---- numbers ----


def dtype_of(cell):
    return next(word[6:] for word in cell.variant.split() if word.startswith("dtype="))


def pick_ns(cell):
    """Time of the race's pick; infinite: nothing was usable."""
    return cell.median(cell.pick()) if cell.pick() is not None else math.inf


def geomean(values):
    values = [value for value in values if value > 0]
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def ratio(cell, config, other):
    """How many times as fast as other: (ratio, low, high) by common rounds; without any, of the medians alone; NaN:
    other has no times."""
    if config == other:
        return 1.0, 1.0, 1.0
    logs = [-value for value in cell.paired(config, other)]
    if not logs:
        middle = cell.median(other) / cell.median(config)
        return middle if math.isfinite(middle) else math.nan, math.nan, math.nan
    low, high = sweepfile.interval(logs) or (math.nan, math.nan)
    return math.exp(statistics.median(logs)), math.exp(low), math.exp(high)


def combined(ratios):
    """Geometric mean of ratios with its interval, as in docs/reduction.md: half-widths add as squares, and count
    as 10 % where they are unknown or more."""
    half = [min(max(math.log(high / middle), math.log(middle / low)), LOOSE) if low == low else LOOSE
            for middle, low, high in ratios]
    middle, width = geomean([row[0] for row in ratios]), math.hypot(*half) / len(half)
    return middle, middle * math.exp(-width), middle * math.exp(width)


def number(text):
    return float(text) if text not in ("", "-", "nan") else math.nan


def mean_known(values):
    return geomean([value for value in values if value == value])


# ---- what the parts found ----


def gain_word(gain):
    """Where a gain lies."""
    if not gain > 0:
        return "unknown"
    return "below" if gain < BAND[0] else "above" if gain > BAND[1] else "within"


def cell_rows(cells, shown, verdicts):
    """A row per cell. shown: rows of `show` by (pack, variant, shape)."""
    rows = []
    for cell in sorted(cells, key=lambda cell: (cell.pack, cell.variant)):
        configs = {row["config"]: row for row in shown[cell.pack, cell.variant, cell.shape]}
        baseline = next(config for config, index in cell.indices.items() if index == 0)
        winner = cell.pick()
        outcomes = list(cell.outcomes.values())
        usable = sum(outcome in USABLE for outcome in outcomes)
        compared = sum(outcome == "alias" or outcome == "ok" and int(cell.records[config]["verify_elements"]) > 0
                       for config, outcome in cell.outcomes.items())
        gains = [number(row["x_baseline"]) for config, row in configs.items() if config != baseline]
        other = max((gain for gain in gains if gain == gain), default=math.nan)
        middle, low, high = ratio(cell, winner, baseline) if winner else (math.nan,) * 3
        verdict, observed, expected = verdicts.get(cell.pack, ("-", "-", "-"))
        rows.append({
            "pack": cell.pack, "variant": cell.variant, "dtype": dtype_of(cell), "shape": cell.shape,
            "configs": len(outcomes), "verified": compared, "failed": len(outcomes) - usable,
            "baseline": baseline, "winner": winner or "",
            "winner_us": pick_ns(cell) / 1e3,
            "speedup": middle, "low": low, "high": high,
            "best_other": other, "gain": gain_word(other),
            "roof": number(configs[winner]["x_roof"]) if winner else math.nan,
            "pack_verdict": verdict, "pack_gain_percent": observed, "expected": expected})
    return rows


def dtype_rows(rows):
    """A row per pack and dtype: geometric means over shapes and flags."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["pack"], row["dtype"]].append(row)
    found = []
    for (pack, dtype), group in groups.items():
        middle, low, high = combined([(row["speedup"], row["low"], row["high"]) for row in group])
        winners = collections.Counter(row["winner"] for row in group)
        winner, count = winners.most_common(1)[0]
        found.append({
            "pack": pack, "dtype": dtype, "cells": len(group), "shapes": len({row["shape"] for row in group}),
            "configs": sum(row["configs"] for row in group), "verified": sum(row["verified"] for row in group),
            "failed": sum(row["failed"] for row in group), "speedup": middle, "low": low, "high": high,
            "best_other": mean_known([row["best_other"] for row in group]),
            "roof": mean_known([row["roof"] for row in group]), "baseline": group[0]["baseline"], "winner": winner,
            "winner_cells": count, "winners": len(winners),
            **{key: group[0][key] for key in ("pack_verdict", "pack_gain_percent", "expected")}})
    return found


def ranking_rows(race, rounds, tables):
    """Where the race's pick and the table's config stand among all configs of the cell by rounds."""
    picks = {(cell.pack, cell.variant, cell.shape): cell for cell in race}
    rows = []
    for cell in sorted(rounds, key=lambda cell: (cell.pack, cell.variant)):
        key = (cell.pack, cell.variant, cell.shape)
        if picks[key].pick() is None or key not in tables or not cell.timed():
            print(f"no ranking of {cell.name}: nothing in it was usable")
            continue
        order, best = cell.timed(), cell.best()
        pick, chosen = cell.followed(picks[key].pick()), cell.followed(tables[key])
        baseline = next(config for config, index in cell.indices.items() if index == 0)
        if pick not in order or chosen not in order:
            raise Broken(f"{cell.name}: {pick} or {chosen} is not in the ranking")
        middle, low, high = ratio(cell, chosen, baseline)
        rows.append({
            "pack": cell.pack, "variant": cell.variant, "shape": cell.shape, "timed": len(order),
            "rank": 1 + order.index(pick), "regret_percent": 100 * max(0.0, ratio(cell, best, pick)[0] - 1),
            "best": best, "pick": pick, "table": chosen,
            "table_regret_percent": 100 * max(0.0, ratio(cell, best, chosen)[0] - 1),
            "table_us": cell.median(chosen) / 1e3, "fixed_us": cell.median(baseline) / 1e3,
            "table_x_fixed": middle, "low": low, "high": high})
    return rows


def build_seconds(cells, pack):
    """CPU time of the builds of the pack's configs."""
    builds = {(cell.variant, config): int(record["compile_cpu_ns"])
              for cell in cells if cell.pack == pack for config, record in cell.records.items()}
    return sum(builds.values()) * 1e-9


def pack_rows(args, table, run, cells, rows):
    """A row per pack: verdict, shapes by what tuning gained, what tuning costs."""
    with h5py.File(run / "sweep.h5", "r") as sweep_file:
        stamps = sweep_file["cells"][:]
    found = []
    for pack in sorted({cell.pack for cell in cells}):
        own = [row for row in rows if row["pack"] == pack]
        times = [stamp for cell, stamp in zip(cells, stamps) if cell.pack == pack]
        begin = min(int(stamp["start_wall_ns"]) for stamp in times)
        end = max(int(stamp["start_wall_ns"]) + int(stamp["wall_ns"]) for stamp in times)
        entries = [entry for entry in table["packs"] if entry["name"] == pack]
        kept = list(dict.fromkeys(config for entry in entries for config in entry["configs"]))
        words = collections.Counter(row["gain"] for row in own)
        cpu_s = build_seconds(cells, pack)
        gpu_s = sum(int(stamp["wall_ns"]) - int(stamp["wait_ns"]) for stamp in times) * 1e-9
        found.append({
            "pack": pack, "cells": len(own), "listed": max((entry["candidates"] for entry in entries), default=0),
            "kept": len(kept), "configs": kept, "verdict": " ".join(sorted({entry["verdict"] for entry in entries})),
            "above": words["above"], "within": words["within"], "below": words["below"], "builds_cpu_s": cpu_s,
            "cells_s": gpu_s, "list_s": cpu_s / max(1, args.cores - 1) + gpu_s, "span_s": (end - begin) * 1e-9,
            "trimmed_s": math.nan})
    return found


def time_trimmed(args, packs, cells):
    """Tunes each pack with the configs of its table alone, with a cache of its own."""
    for row in sorted(packs, key=lambda row: -row["list_s"]):
        if not row["configs"]:
            continue
        if time.monotonic() > args.deadline:
            print(f"skipped: trimmed {row['pack']}: the budget is spent")
            continue
        name = f"trimmed-{row['pack']}"
        own = [cell for cell in cells if cell.pack == row["pack"]]
        job = write_job(args, name, job_text(name, own, spaces={row["pack"]: row["configs"]}))
        row["trimmed_s"], _, _ = sweep(args, name, job, cache=f"{name}-cache")


def check_fixed(args, cells):
    """Faults of a run with tuning switched off."""
    first = {}
    for cell in sorted(cells, key=pick_ns):
        first.setdefault(cell.pack, cell.shape)
    chosen = [cell for cell in cells if cell.shape == first[cell.pack]]
    job = write_job(args, "fixed", job_text("fixed", chosen))
    wall, run, _ = sweep(args, "fixed", job, env=[("DISABLE_AUTOTUNE", "1")])
    done, faults = sweepfile.read(run / "sweep.h5"), []
    with h5py.File(run / "sweep.h5", "r") as sweep_file:
        meta = {name: sweepfile.text(sweep_file["meta"].attrs[name]) for name in ("purpose", "mode")}
    if meta["purpose"] != "fixed":
        faults.append(f"its purpose is {meta['purpose']}")
    if (run / "tables").exists() and any((run / "tables").iterdir()):
        faults.append("it wrote tables")
    if len(done) != len(chosen):
        faults.append(f"{len(done)} cells of {len(chosen)}")
    for cell in done:
        (index, *others), (record, *_) = cell.indices.values(), cell.records.values()
        checked = int(record["verify_elements"]) > 0 or meta["mode"] != "cuda"
        if index != 0 or others or list(cell.outcomes.values()) != ["ok"] or not checked:
            faults.append(f"{cell.name}: {cell.outcomes}, {int(record['verify_elements'])} elements compared")
    print(f"\nDISABLE_AUTOTUNE=1: {len(done)} cells of {len(first)} packs, the fixed config alone in each, "
          f"{sum(int(r['verify_elements']) for c in done for r in c.records.values())} elements compared, {wall:.1f} s")
    for fault in faults:
        print(f"  FAILED: {fault}")
    return not faults


def lookup_cost(args, table_path):
    """(ms to read the table, ns to find a cell's config in it) for a program in Python."""
    start = time.perf_counter()
    table = json.loads(table_path.read_text())
    found = {(entry["name"], choice["variant"], choice["shape"]): entry["configs"][choice["config"]]
             for entry in table["packs"] for choice in entry["choices"]}
    read_ms = 1e3 * (time.perf_counter() - start)
    keys = list(found) * (1 + 100000 // len(found))
    start = time.perf_counter()
    for key in keys:
        found[key]
    return found, table, read_ms, 1e9 * (time.perf_counter() - start) / len(keys)


# ---- tables ----


def write_csv(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()})


def print_dtypes(rows):
    print("\nper pack and dtype: geometric means over shapes and flags; x fixed: the winner of each cell; other: the"
          "\nbest config besides the fixed one; roof: share of the measured roof; verdict, gain and what the class is"
          "\nexpected to gain: of the whole pack")
    print(f"{'pack':17} {'dtype':5} {'cells':>5} {'verified':>9} {'failed':>6} {'x fixed':>7} {'(95 %)':>14}"
          f" {'other':>6} {'roof':>5}  {'verdict':12} {'gain %':>6}  expected")
    for row in rows:
        interval = f"({row['low']:.3f}, {row['high']:.3f})"
        roof = f"{row['roof']:.2f}" if row["roof"] == row["roof"] else "-"
        print(f"{row['pack']:17} {row['dtype']:5} {row['cells']:5} {row['verified']:4}/{row['configs']:<4}"
              f" {row['failed']:6} {row['speedup']:7.3f} {interval:>14} {row['best_other']:6.3f} {roof:>5}"
              f"  {row['pack_verdict']:12} {row['pack_gain_percent']:>6}  {row['expected']}")
    print("fixed config, and the config that wins most cells of it")
    for row in rows:
        print(f"{row['pack']:17} {row['dtype']:5} {row['baseline']} -> {row['winner']} ({row['winner_cells']} of"
              f" {row['cells']} cells, {row['winners']} winners)")


def print_packs(rows, cores):
    print("\nper pack: cells by the gain of the best other config; tuning time in s: CPU time of the builds, time of"
          f"\nthe cells without waiting for builds, list: their sum on {cores} cores, span: from the first cell to the"
          "\nlast among those of all packs, trimmed: a run of the table's configs alone with an empty cache")
    print(f"{'pack':17} {'verdict':12} {'> 1.02':>6} {'within':>6} {'< 0.98':>6} {'configs':>7} {'kept':>4}"
          f" {'builds':>7} {'cells':>6} {'list':>6} {'span':>6} {'trimmed':>7}")
    for row in rows:
        late = f"  above {TUNING_S:.0f} s" if row["trimmed_s"] > TUNING_S else ""
        print(f"{row['pack']:17} {row['verdict']:12} {row['above']:6} {row['within']:6} {row['below']:6}"
              f" {row['listed']:7} {row['kept']:4} {row['builds_cpu_s']:7.1f} {row['cells_s']:6.1f}"
              f" {row['list_s']:6.1f} {row['span_s']:6.1f} {row['trimmed_s']:7.1f}{late}")
    for what, packs in (("no cell gains more than 2 %", [row["pack"] for row in rows if not row["above"]]),
                        ("all cells within 2 %", [row["pack"] for row in rows if row["within"] == row["cells"]]),
                        ("all cells lose more than 2 %", [row["pack"] for row in rows if row["below"] == row["cells"]]),
                        (f"tuning takes more than {TUNING_S:.0f} s",
                         [row["pack"] for row in rows if row["trimmed_s"] > TUNING_S])):
        print(f"{what}: {', '.join(packs) or 'none'}")


def print_ranking(rows):
    print("\nall configs by rounds against the race's pick: rank, regret; the table's config against the fixed one")
    print(f"{'cell':72} {'rank':>7} {'regret %':>8} {'table: %':>8} {'us':>9} {'fixed us':>9} {'x fixed':>7}"
          f" {'(95 %)':>14}")
    for row in rows:
        name = f"{row['pack']} {row['variant']} {row['shape']}"
        interval = f"({row['low']:.3f}, {row['high']:.3f})"
        standing = f"{row['rank']}/{row['timed']}"
        print(f"{name:72} {standing:>7} {row['regret_percent']:8.2f} {row['table_regret_percent']:8.2f}"
              f" {row['table_us']:9.2f} {row['fixed_us']:9.2f} {row['table_x_fixed']:7.3f} {interval:>14}")
    regrets = sorted(row["regret_percent"] for row in rows)
    p95 = regrets[math.ceil(0.95 * len(regrets)) - 1]
    print(f"picks first: {sum(row['rank'] == 1 for row in rows)} of {len(rows)}; regret mean"
          f" {statistics.fmean(regrets):.2f}, p95 {p95:.2f}, max {regrets[-1]:.2f} %; table's config"
          f" {geomean([row['table_x_fixed'] for row in rows]):.3f} x fixed, slower by more than 1 % in"
          f" {sum(row['table_x_fixed'] < 0.99 for row in rows)} cells")


# ---- the parts ----


def calibrate(args):
    """What the host needs to queue a launch, in ns; NaN: not known."""
    try:
        print(tool(args, "calibrate", "calibrate", "--device", args.device, "--cache", args.work / "tool-cache"))
    except Broken as why:
        print(f"no roof: {why}")
    for stored in (args.work / "calibration").glob("*.json"):
        (args.out / "calibration.json").write_text(stored.read_text())
        return json.loads(stored.read_text())["values"].get("enqueue_ns") or math.nan
    return math.nan


def middling(cells):
    """Of each pack and dtype the cells of one shape: the middle one by the time of its pick."""
    groups = collections.defaultdict(dict)
    for cell in cells:
        if cell.pick() is not None:
            groups[cell.pack, dtype_of(cell)].setdefault(cell.shape, pick_ns(cell))
    chosen = {key: sorted(shapes, key=shapes.get)[len(shapes) // 2] for key, shapes in groups.items()}
    return [cell for cell in cells if chosen.get((cell.pack, dtype_of(cell))) == cell.shape]


def rank(args, cells, tables):
    measure = "{protocol: rounds, rounds: 20, warmup: 2, seed: 2}"
    job = write_job(args, "ranking", job_text("ranking", middling(cells), measure))
    wall, run, _ = sweep(args, "ranking", job)
    rows = ranking_rows(cells, sweepfile.read(run / "sweep.h5"), tables)
    if rows:
        write_csv(args.out / "ranking.csv", rows)
        print_ranking(rows)
    print(f"{wall:.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tilesweep", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("out", type=Path)
    parser.add_argument("--job", type=Path, default=HERE / "release.yaml", help="default: %(default)s")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--parts", default=",".join(PARTS), help="default: %(default)s; sweep is always done")
    parser.add_argument("--budget", type=float, default=205, metavar="SECONDS",
                        help="no trimmed pack is begun after it (default: %(default)s)")
    args = parser.parse_args()
    args.parts, args.cores = args.parts.split(","), len(os.sched_getaffinity(0))
    begin = time.monotonic()
    args.deadline = begin + args.budget
    (args.out / "logs").mkdir(parents=True)
    with tempfile.TemporaryDirectory() as work:
        args.work = Path(work)
        try:
            good = report(args)
        except Broken as why:
            sys.exit(f"FAILED: {why}")
    print(f"\n{'ok' if good else 'FAILED'}: {time.monotonic() - begin:.0f} s in all")
    return 0 if good else 1


def attempt(part, *words):
    """Whether it went well. What breaks in one part leaves the others."""
    try:
        return part(*words) is not False
    except Broken as why:
        print(f"FAILED: {why}")
        return False


def report(args):
    (args.work / "calibration").mkdir()
    enqueue_ns = calibrate(args) if "calibrate" in args.parts else math.nan
    wall, run, printed = sweep(args, "sweep", args.job)
    print(*printed.splitlines()[:4], sep="\n")
    shown_text = tool(args, "show", "show", run, "-f", "csv")
    (args.out / "logs" / "show.txt").unlink()
    with gzip.open(args.out / "sweep.csv.gz", "wt") as file:
        file.write(shown_text)
    shown = collections.defaultdict(list)
    for row in csv.DictReader(io.StringIO(shown_text)):
        shown[row["pack"], row["variant"], row["shape"]].append(row)
    table_path = run / "tables" / "sm_90.json"
    if not table_path.exists():
        raise Broken("there is no table for sm_90: nothing was usable")
    (args.out / "sm_90.json").write_text(table_path.read_text())
    tables, table, read_ms, find_ns = lookup_cost(args, table_path)
    verdicts = {pack: words for pack, *words in VERDICT.findall(printed)}
    cells = sweepfile.read(run / "sweep.h5")
    rows = cell_rows(cells, shown, verdicts)
    dtypes = dtype_rows(rows)
    packs = pack_rows(args, table, run, cells, rows)
    write_csv(args.out / "cells.csv", rows)
    write_csv(args.out / "dtypes.csv", dtypes)
    print(f"sweep: {wall:.1f} s")
    print_dtypes(dtypes)
    failed = [f"{cell.name}: {config}: {outcome}: {sweepfile.text(cell.records[config]['detail'])}"
              for cell in cells for config, outcome in cell.outcomes.items() if outcome not in USABLE]
    print(f"failed configs: {len(failed)}", *failed[:20], sep="\n  ")
    good = all(row["verified"] == row["configs"] for row in rows)
    if "ranking" in args.parts:
        good &= attempt(rank, args, cells, tables)
        print(f"launching what a table says: {len(tables)} choices are read in {read_ms:.1f} ms, and one is found in"
              f" {find_ns:.0f} ns by a map in Python; a launch costs the host {enqueue_ns:.0f} ns with either config,"
              " as it is the same call")
    if "fixed" in args.parts:
        good &= attempt(check_fixed, args, cells)
    if "trimmed" in args.parts:
        good &= attempt(time_trimmed, args, packs, cells)
    write_csv(args.out / "packs.csv", [{key: row[key] for key in row if key != "configs"} for row in packs])
    print_packs(packs, args.cores)
    return good


if __name__ == "__main__":
    sys.exit(main())
