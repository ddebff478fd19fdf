#!/usr/bin/env python3
"""The winners of a job against libraries on the same GPU, all under one timer (court.py).

    libraries.py TILESWEEP OUT [--job JOB] [--cells PATTERN,..] [--without NAME,..] [--budget SECONDS]

Runs the job (default libraries.yaml beside this file; a run that is in OUT already is taken as it is). Then
for each cell in one process and in shuffled rounds: the winner and the fixed config as the cubins of the
run, cuBLAS, SDPA (flash and cuDNN), torch._scaled_mm, torch eager and compiled, and copies of as many bytes.
When all are done, winners against TileGym's kernels tuned by cuda.tile.tune, the goals' cells first. Cold
caches, by rotation over buffer sets. Medians of the rounds and of the ratios within a round, with 95 %
intervals. What is missing or fails is named and left out. Prints tables and the goals; adds to
OUT/libraries.json after each cell. Needs torch, h5py, xxhash and TSW_TOOLCHAIN; for TileGym the wheels of
requirements.txt.
"""

import argparse
import fnmatch
import importlib.util
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import court
import library_ops
import sweepfile

HERE = Path(__file__).resolve().parent
WINNER, FIXED = "tilesweep", "its fixed config"
COPY, KERNEL_COPY = "copy (memcpy)", "copy (kernel)"
BIG_COPY = 512 << 20
WORST_ERROR = 0.02  # of a result, where its largest element is 1
FORMS = "_forms"

# (cells, whom to compare with, least ratio of our speed to theirs)
GOALS = (
    ("matmul* dtype=f16 M=4096 N=4096 K=4096", "cuBLAS", 0.95),
    ("matmul* dtype=f16 M=8192 N=8192 K=8192", "cuBLAS", 0.95),
    ("fmha dtype=f16 causal=* S=8192 D=128", "SDPA*", 0.95),
    ("rmsnorm M=16384 N=8192", "copy*", 0.93),
    ("softmax M=16384 N=8192", "copy*", 0.93),
    ("swiglu M=16384 N=8192", "copy*", 0.93),
    ("layernorm M=16384 N=8192", "copy*", 0.90),
)


def run_job(args):
    run = args.out / "run"
    if (run / "sweep.h5").exists():
        print(f"taken as it is: {run}", flush=True)
        return
    start = time.monotonic()
    command = [args.tilesweep, "run", str(args.job), "-o", str(run), "--cache", str(args.out / "cache"),
               "-q", "--device", args.device]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()[-600:]}")
    (args.out / "run.txt").write_text(done.stdout)
    print(f"{args.job.name}: {time.monotonic() - start:.1f} s\n{done.stdout.splitlines()[0]}", flush=True)


# ---- one cell ----


def base_pack(cell):
    """A pack of research variants is the pack whose problem it solves."""
    return cell.pack.removesuffix(FORMS)


def name_of(cell):
    """Pack, dtype, flags, then the dims."""
    words = [word for word in cell.variant.split() if word.split("=")[0] not in cell.shape]
    return " ".join([cell.pack, *words, cell.shape])


def fits(name, pattern):
    """Whether the pattern's pack is the name's and each further word matches a word of the name."""
    pack, *have = name.split()
    wanted_pack, *wanted = pattern.split()
    return fnmatch.fnmatchcase(pack.removesuffix(FORMS), wanted_pack) and all(
        any(fnmatch.fnmatchcase(word, w) for word in have) for w in wanted)


def copiers(torch, total_bytes, count):
    """Launch functions that copy total_bytes / 2, over as many buffers as there are sets: the driver's copy,
    which is slow in a graph, and a kernel of torch that reads and writes each word."""
    words = total_bytes // 8
    pairs = [(torch.randint(1 << 30, (words,), device="cuda", dtype=torch.int32),
              torch.empty(words, device="cuda", dtype=torch.int32)) for _ in range(count)]
    first, second = itertools.cycle(pairs), itertools.cycle(pairs)

    def memcpy(*_):
        source, target = next(first)
        target.copy_(source)

    def kernel(*_):
        source, target = next(second)
        torch.bitwise_not(source, out=target)

    memcpy.as_queue = True
    return {COPY: lambda: memcpy, KERNEL_COPY: lambda: kernel}


def contenders_of(torch, args, cell, op, kernels, tilegym):
    def config_of(config):
        def make():
            kernel = court.Kernel(torch, cell, config, args.out / "cache", base_pack(cell))
            kernels.append(kernel)
            launch = op.ours(kernel)
            launch.as_queue = tilegym and op.queue_beside_tilegym
            return launch

        return make

    pick = cell.pick()
    fixed = next(config for config, index in cell.indices.items() if index == 0)
    makers = {WINNER: config_of(pick)}
    if tilegym:
        makers.update(op.tilegym())
    else:
        if cell.followed(fixed) != cell.followed(pick):
            makers[FIXED] = config_of(fixed)
        makers.update(op.peers())
        if op.kind == "memory":
            makers.update(copiers(torch, op.bytes, len(op.all_sets)))
    return {name: make for name, make in makers.items()
            if not any(fnmatch.fnmatchcase(name, pattern) for pattern in args.without)}


def judge(torch, args, cell, op, tilegym):
    op.make_sets(court.count_sets(torch, op.bytes))
    kernels = []
    want = op.want(*op.all_sets[0])

    makers = contenders_of(torch, args, cell, op, kernels, tilegym)
    facts, notes, times = court.hold_court(torch, makers, op.all_sets, args.rounds,
                                           lambda output: op.error(output, want), WORST_ERROR)
    for kernel in kernels:
        kernel.unload()
    result = {"cell": name_of(cell), "pick": cell.pick(), "kind": op.kind, "flops": op.flops,
              "bytes": op.bytes, "left_out": notes, "contenders": {}}
    for name, own in times.items():
        median, low, high = court.median_interval(own)
        entry = {**facts[name], "median_us": median, "interval_us": [low, high], "times_us": own}
        if name != WINNER and WINNER in times:
            entry["our_speed"] = court.ratio(times, WINNER, name)
        result["contenders"][name] = entry
    return result


def left_out(cell, op, why):
    """A result that has nothing but the reason why TileGym's kernels are not in it."""
    return {"cell": name_of(cell), "pick": cell.pick(), "kind": op.kind, "flops": op.flops, "bytes": op.bytes,
            "left_out": {"TileGym": why}, "contenders": {}}


def load(path):
    return json.loads(path.read_text()) if path.exists() else {"cells": []}


def keep(results, result):
    """TileGym's times join what the cell has already; else the cell is replaced."""
    for old in results["cells"]:
        if old["cell"] == result["cell"]:
            theirs = {n: c for n, c in result["contenders"].items() if n.startswith("TileGym")}
            notes = {n: why for n, why in result["left_out"].items() if n.startswith("TileGym")}
            if theirs or notes:
                old["contenders"].update(theirs)
                old["left_out"] = {n: why for n, why in {**old["left_out"], **notes}.items()
                                   if n not in old["contenders"]}
                return
            results["cells"].remove(old)
            break
    results["cells"].append(result)


def obstacle(op, deadline):
    """Why the cell cannot be judged; None: it can."""
    if not op.runs:
        return "no library takes this dtype or these sizes"
    return "the budget is spent" if time.monotonic() > deadline else None


def judge_all(args):
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    deadline = time.monotonic() + args.budget
    cells = [cell for cell in sweepfile.read(args.out / "run" / "sweep.h5")
             if base_pack(cell) in library_ops.OPS and cell.pick() is not None]
    cells.sort(key=lambda cell: (not any(fits(name_of(cell), goal[0]) for goal in GOALS), name_of(cell)))
    names = [name_of(cell) for cell in cells]
    cells = [cell for cell in cells
             if not args.cells or any(fits(name_of(cell), pattern) for pattern in args.cells)]
    if not cells:
        sys.exit("no cell fits --cells; there are:\n  " + "\n  ".join(names))
    results = load(args.out / "libraries.json")
    results.update({"device": torch.cuda.get_device_name(0), "torch": torch.__version__, "rounds": args.rounds,
                    "caches": "cold, by rotation over buffer sets of three times the L2",
                    "copy_GBps": big_copy(torch, args.rounds)})
    print(f"copy of {BIG_COPY >> 20} MiB, GB/s read and written: {results['copy_GBps']}", flush=True)
    work = [(cell, False) for cell in cells]
    if importlib.util.find_spec("tilegym") is None:
        print("TileGym is left out: no Python package tilegym", flush=True)
    elif not any(fnmatch.fnmatchcase("TileGym", pattern) for pattern in args.without):
        work += [(cell, True) for cell in cells]
    with torch.no_grad():
        for cell, tilegym in work:
            op = library_ops.OPS[base_pack(cell)](torch, cell)
            what = name_of(cell) + (" against TileGym" if tilegym else "")
            if tilegym and not (op.runs and op.tilegym()):
                continue
            result, why = None, obstacle(op, deadline)
            if why is None:
                try:
                    result = judge(torch, args, cell, op, tilegym)
                    print_cell(result)
                except Exception as error:
                    why = repr(error)
            if why is not None:
                print(f"left out: {what}: {why}", flush=True)
            if result is not None or tilegym:
                keep(results, result or left_out(cell, op, why))
            (args.out / "libraries.json").write_text(json.dumps(results, indent=1))
            del op
            torch.cuda.empty_cache()


def big_copy(torch, rounds):
    """GB/s of each way to copy."""
    makers = copiers(torch, 2 * BIG_COPY, 2)
    _, _, times = court.hold_court(torch, makers, [(), ()], rounds)
    return {name: round(2 * BIG_COPY / statistics.median(own) * 1e-3) for name, own in times.items()}


# ---- tables ----


def print_cell(result):
    unit, amount = ("TFLOP/s", result["flops"] * 1e-6) if result["kind"] == "compute" else (
        "GB/s", result["bytes"] * 1e-3)
    print(f"\n{result['cell']}: {result['pick']}")
    print(f"  {'':40} {'us':>9} {'(95 %)':>20} {unit:>8} {'our speed, theirs = 1':>24} {'error':>8}")
    for name, r in sorted(result["contenders"].items(), key=lambda item: item[1]["median_us"]):
        low, high = r["interval_us"]
        ours = f"{r['our_speed'][0]:.3f} ({r['our_speed'][1]:.3f}, {r['our_speed'][2]:.3f})" if "our_speed" in r else ""
        error = f"{r['error']:.1e}" if r["error"] is not None else ""
        print(f"  {name:40} {r['median_us']:9.2f} {f'({low:.2f}, {high:.2f})':>20}"
              f" {amount / r['median_us']:8.1f} {ours:>24} {error:>8}"
              f"{'' if r['graph'] else '  no graph: a queue'}"
              f"{', which the host fed too slowly in ' + str(r['starved_rounds']) if r['starved_rounds'] else ''}",
              flush=True)


def print_goals(results):
    print("\ngoals: our speed, theirs = 1")
    for pattern, whom, least in GOALS:
        for result in results["cells"]:
            if not fits(result["cell"], pattern):
                continue
            theirs = {n: r for n, r in result["contenders"].items() if fnmatch.fnmatchcase(n, whom)}
            if not theirs:
                print(f"  ?     {result['cell']}: {whom} did not run")
                continue
            name, entry = min(theirs.items(), key=lambda item: item[1]["median_us"])
            if "our_speed" in entry:
                value = entry["our_speed"][0]
                print(f"  {'met ' if value >= least else 'MISS'}  {result['cell']}: {value:.3f} of {name},"
                      f" goal {least}")


def print_tilegym(results):
    """The winner's time over each of TileGym's kernels', or why one is not there."""
    print("\nagainst TileGym: our time, theirs = 1")
    for result in results["cells"]:
        for name, entry in result["contenders"].items():
            if name.startswith("TileGym") and "our_speed" in entry:
                ratio, low, high = entry["our_speed"]
                print(f"  {1 / ratio:.3f} ({1 / high:.3f}, {1 / low:.3f})  {result['cell']}: {name},"
                      f" {entry['median_us']:.2f} us")
        for name, why in result["left_out"].items():
            if name.startswith("TileGym"):
                print(f"  -      {result['cell']}: {name}: {why}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tilesweep")
    parser.add_argument("out", type=Path)
    parser.add_argument("--job", type=Path, default=HERE / "libraries.yaml", help="default: %(default)s")
    parser.add_argument("--cells", default="", metavar="PATTERN,..",
                        help="only these, e.g. 'fmha S=8192,softmax' (default: all that a library can do)")
    parser.add_argument("--without", default="", metavar="NAME,..",
                        help="contenders to leave out, e.g. 'TileGym*,torch.compile' (default: none)")
    parser.add_argument("--rounds", type=int, default=60, help="default: %(default)s")
    parser.add_argument("--budget", type=float, default=420, metavar="SECONDS",
                        help="no cell is begun after it (default: %(default)s)")
    parser.add_argument("--device", default="cuda", help="of tilesweep (default: %(default)s)")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.out = args.out.resolve()
    args.out.mkdir(parents=True, exist_ok=True)
    args.without = [name for name in args.without.split(",") if name]
    args.cells = [pattern.strip() for pattern in args.cells.split(",") if pattern.strip()]
    if args.inside:
        judge_all(args)
        return
    run_job(args)
    toolchain = os.environ.get("TSW_TOOLCHAIN", "")
    env = {**os.environ, "CUDA_HOME": toolchain, "PATH": f"{toolchain}/bin:{os.environ['PATH']}",
           "CUDA_TILE_CACHE_DIR": str(args.out / "cutile"),
           "TRITON_CACHE_DIR": str(args.out / "triton"),
           "TORCHINDUCTOR_CACHE_DIR": str(args.out / "inductor")}
    done = subprocess.run([sys.executable, "-X", "faulthandler", __file__, *sys.argv[1:], "--inside"], env=env)
    if done.returncode != 0:
        print(f"the judge's process ended with {done.returncode}", flush=True)
    if not (args.out / "libraries.json").exists():
        sys.exit("nothing was judged")
    results = json.loads((args.out / "libraries.json").read_text())
    print_goals(results)
    print_tilegym(results)


if __name__ == "__main__":
    main()
