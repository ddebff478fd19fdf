#!/usr/bin/env python3
"""tilesweep against other tuners, end to end on one GPU: wall time, and what their picks are worth.

    peers.py TILESWEEP OUT [--parts PART,..]       parts: tilesweep cutile triton kernel_tuner judge

Every part runs in a process of its own with empty compile caches:
  tilesweep      the job matmul108.yaml (f16 4096^3, 108 configs), and an sgemm space of 128 configs at
                 2048^3; the whole process counts
  cutile         cuda.tile.tune.exhaustive_search over the same 108 values, on a matmul in cuTile Python
  triton         Triton's autotuner over 72 configs of its usual matmul, same problem
  kernel_tuner   Kernel Tuner over the same sgemm space and source, CuPy back end
  judge          all picks and cuBLAS under one timer: CUDA graphs of N launches over rotated buffers (cold
                 L2), in shuffled rounds; the outputs are compared with cuBLAS first
For the peers only the search call counts, not imports and data. Prints tables, writes OUT/peers.json. A
part whose package is missing is skipped. Needs torch, h5py, xxhash, and TSW_TOOLCHAIN; requirements.txt
has the peers.
"""

import argparse
import importlib.util
import itertools
import json
import math
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

import court
import sweepfile

HERE = Path(__file__).resolve().parent
SGEMM_SOURCE = HERE.parent.parent / "kernels" / "sgemm" / "sgemm.cu"
PARTS = ("tilesweep", "cutile", "triton", "kernel_tuner", "judge")
NEEDS = {"cutile": ("torch", "cuda.tile"), "triton": ("torch", "triton"),
         "kernel_tuner": ("cupy", "kernel_tuner"), "judge": ("torch", "xxhash")}
MATMUL, SGEMM = 4096, 2048
SGEMM_SPACE = {"TILE_M": [64, 128], "TILE_N": [64, 128], "TILE_K": [8, 16], "THREAD_M": [4, 8],
               "THREAD_N": [4, 8], "occupancy": [1, 2], "num_ctas": [1, 2]}
SGEMM_JOB = """name: sgemm128
purpose: research
archs: [sm_90]
packs:
  - pack: sgemm
    dtypes: [f32]
    shapes: [{{M: {size}, N: {size}, K: {size}}}]
    space: [{{{space}}}]
measure: {{seed: 1}}
"""


# ---- tilesweep ----


def has_protocols(tool):
    return "--protocol" in subprocess.run([tool, "run", "--help"], capture_output=True, text=True).stdout


def sweep(args, job, name):
    out, cache = args.out / name, args.out / f"{name}-cache"
    command = [args.tilesweep, "run", str(job), "-o", str(out), "--cache", str(cache), "-q",
               "--device", args.device]
    if has_protocols(args.tilesweep):
        command += ["--protocol", "race"]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    wall = time.monotonic() - start
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()[-400:]}")
    warm = args.out / f"{name}-warm"
    start = time.monotonic()
    subprocess.run([*command[:4], str(warm), *command[5:]], capture_output=True, check=False)
    warm_wall = time.monotonic() - start
    (cell,) = sweepfile.read(out / "sweep.h5")
    cpu_s = sum(int(r["compile_cpu_ns"]) for r in cell.records.values()) * 1e-9
    pick = cell.pick()
    return {"configs": len(cell.outcomes), "wall_s": wall, "warm_wall_s": warm_wall, "pick": pick,
            "own_us": cell.median(pick) / 1e3, "samples": cell.sample_count(),
            "compile_cpu_s": cpu_s, "bound_s": cpu_s / os.cpu_count(), "cores": os.cpu_count(),
            "rounds_s": cell.rounds_ns * 1e-9}


def part_tilesweep(args):
    space = ", ".join(f"{knob}: {values}" for knob, values in SGEMM_SPACE.items())
    job = args.out / "sgemm128.yaml"
    job.write_text(SGEMM_JOB.format(size=SGEMM, space=space))
    return {"matmul": sweep(args, HERE / "matmul108.yaml", "matmul"),
            "sgemm": sweep(args, job, "sgemm")}


# ---- cuda.tile ----


def cutile_grid(config):
    return (math.ceil(MATMUL / config["tm"]) * math.ceil(MATMUL / config["tn"]), 1, 1)


def part_cutile(args):
    import torch
    import cuda.tile as ct
    from cuda.tile.tune import exhaustive_search
    from peer_cutile import matmul

    a, b, c = matrices(torch, MATMUL, torch.float16)
    names = ("tm", "tn", "tk", "num_ctas", "occupancy")
    space = [dict(zip(names, values)) for values in itertools.product(
        (64, 128, 256), (64, 128, 256), (32, 64, 128), (1, 2), (1, 2))]
    random.Random(1).shuffle(space)
    walls = []
    for _ in range(2):  # the second finds a filled compile cache
        start = time.monotonic()
        result = exhaustive_search(
            space, torch.cuda.current_stream(), cutile_grid, matmul,
            lambda cfg: (a, b, c, cfg["tm"], cfg["tn"], cfg["tk"]),
            lambda cfg: {"num_ctas": cfg["num_ctas"], "occupancy": cfg["occupancy"]}, quiet=True)
        walls.append(time.monotonic() - start)
    return {"configs": len(space), "wall_s": walls[0], "warm_wall_s": walls[1],
            "pick": result.best.config, "own_us": result.best.mean_us,
            "failed": len(result.failures), "version": getattr(ct, "__version__", "?"),
            "samples": sum(m.num_samples for m in result.successes)}


# ---- Triton ----


def triton_grid(meta):
    return (math.ceil(MATMUL / meta["BM"]) * math.ceil(MATMUL / meta["BN"]),)


def triton_args(a, b, c):
    return (a, b, c, MATMUL, MATMUL, MATMUL, *a.stride(), *b.stride(), *c.stride())


def part_triton(args):
    import torch
    import triton
    from peer_triton import matmul

    a, b, c = matrices(torch, MATMUL, torch.float16)
    configs = [triton.Config({"BM": bm, "BN": bn, "BK": bk, "GROUP": 8}, num_stages=stages,
                             num_warps=warps)
               for bm, bn, bk, stages, warps in itertools.product(
                   (64, 128, 256), (64, 128, 256), (32, 64), (3, 4), (4, 8))]
    tuned = triton.autotune(configs=configs, key=["M", "N", "K"])(matmul)
    start = time.monotonic()
    tuned[triton_grid](*triton_args(a, b, c))
    torch.cuda.synchronize()
    wall = time.monotonic() - start
    best = tuned.best_config
    times = {str(cfg): value for cfg, value in (getattr(tuned, "configs_timings", None) or {}).items()}
    own = times.get(str(best))
    own = own[0] if isinstance(own, (list, tuple)) else own
    return {"configs": len(configs), "wall_s": wall, "version": triton.__version__,
            "own_us": own * 1e3 if own else None,
            "pick": {**best.kwargs, "num_stages": best.num_stages, "num_warps": best.num_warps}}


# ---- Kernel Tuner ----


def is_whole_block(p):
    return p["block_size_x"] == (p["TILE_M"] // p["THREAD_M"]) * (p["TILE_N"] // p["THREAD_N"])


def part_kernel_tuner(args):
    import numpy as np
    import kernel_tuner

    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((SGEMM, SGEMM), dtype=np.float32) for _ in range(2))
    size = np.int32(SGEMM)
    # Its macros are the names of its parameters; the threads of a block are one of them.
    space = {knob.upper(): values for knob, values in SGEMM_SPACE.items()}
    threads = sorted({(m // i) * (n // j) for m, n, i, j in itertools.product(
        space["TILE_M"], space["TILE_N"], space["THREAD_M"], space["THREAD_N"])})
    start = time.monotonic()
    results, env = kernel_tuner.tune_kernel(
        "sgemm", SGEMM_SOURCE.read_text(), SGEMM * SGEMM,
        [a, b, np.zeros_like(a), size, size, size], {**space, "block_size_x": threads},
        grid_div_x=["TILE_M * TILE_N"], lang="cupy", quiet=True, compiler_options=["--std=c++17"],
        restrictions=is_whole_block)
    wall = time.monotonic() - start
    timed = [r for r in results if isinstance(r.get("time"), (int, float))]
    best = min(timed, key=lambda r: r["time"])
    return {"configs": len(results), "failed": len(results) - len(timed), "wall_s": wall,
            "own_us": best["time"] * 1e3, "version": getattr(kernel_tuner, "__version__", "?"),
            "compile_s": sum(r.get("compile_time", 0) for r in results) / 1e3,
            "pick": {knob: best[knob.upper()] for knob in SGEMM_SPACE}}


# ---- the judge ----


def matrices(torch, size, dtype, seed=1):
    generator = torch.Generator(device="cuda").manual_seed(seed)
    a, b = (torch.randn((size, size), device="cuda", dtype=torch.float32, generator=generator).to(dtype)
            for _ in range(2))
    return a, b, torch.zeros((size, size), device="cuda", dtype=dtype)


def tilesweep_launch(torch, out, name, config, kernels):
    """A config of a run as it was compiled there."""
    (cell,) = sweepfile.read(out / name / "sweep.h5")
    kernel = court.Kernel(torch, cell, config, out / f"{name}-cache", cell.pack)
    kernels.append(kernel)

    def launch(a, b, c):
        kernel(a, b, c, a.shape[0], a.shape[0], a.shape[0])
        return c

    return launch


def cutile_launch(torch, pick):
    import cuda.tile as ct
    from peer_cutile import matmul

    kernel = matmul.replace_hints(num_ctas=pick["num_ctas"], occupancy=pick["occupancy"])

    def launch(a, b, c):
        ct.launch(torch.cuda.current_stream(), cutile_grid(pick), kernel,
                  (a, b, c, pick["tm"], pick["tn"], pick["tk"]))
        return c

    return launch


def triton_launch(pick):
    from peer_triton import matmul

    def launch(a, b, c):
        matmul[triton_grid](*triton_args(a, b, c), **pick)
        return c

    return launch


def launches_of(torch, args, results, kernels):
    """{problem: {name: function that makes a launch function}}; kernels gets what must be unloaded."""
    ours = results.get("tilesweep", {})
    makers = {"matmul": {"cuBLAS": lambda: lambda a, b, c: torch.matmul(a, b, out=c)},
              "sgemm": {"cuBLAS": lambda: lambda a, b, c: torch.matmul(a, b, out=c)}}

    def own(problem, pick):
        return lambda: tilesweep_launch(torch, args.out, problem, pick, kernels)

    if ours:
        makers["matmul"]["tilesweep"] = own("matmul", ours["matmul"]["pick"])
        makers["sgemm"]["tilesweep"] = own("sgemm", ours["sgemm"]["pick"])
    if "cutile" in results:
        makers["matmul"]["cuda.tile.tune"] = lambda: cutile_launch(torch, results["cutile"]["pick"])
    if "triton" in results:
        makers["matmul"]["Triton"] = lambda: triton_launch(results["triton"]["pick"])
    if ours and "kernel_tuner" in results:
        (cell,) = sweepfile.read(args.out / "sgemm" / "sweep.h5")
        makers["sgemm"]["Kernel Tuner"] = own("sgemm", cell.find(results["kernel_tuner"]["pick"]))
    return makers


def part_judge(args):
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    results, judged, kernels = load_results(args.out), {}, []
    for problem, makers in launches_of(torch, args, results, kernels).items():
        size, dtype = (MATMUL, torch.float16) if problem == "matmul" else (SGEMM, torch.float32)
        bytes_each = 3 * size * size * (2 if problem == "matmul" else 4)
        sets = [matrices(torch, size, dtype, seed=i) for i in range(court.count_sets(torch, bytes_each))]
        want = sets[0][0].float() @ sets[0][1].float()

        def error_of(output):
            return ((output.float() - want).abs().max() / want.abs().max()).item()

        facts, _, times = court.hold_court(torch, makers, sets, args.rounds, error_of)
        base = "tilesweep" if "tilesweep" in times else next(iter(times))
        judged[problem] = {
            name: {**facts[name], "median_us": statistics.median(times[name]),
                   "tilesweep_is_faster_by": 1 / court.ratio(times, name, base)[0] - 1,
                   "tflops": 2 * size ** 3 / statistics.median(times[name]) * 1e-6,
                   "times_us": times[name]} for name in times}
        del sets, want
    for kernel in kernels:
        kernel.unload()
    return judged


# ---- all ----


def load_results(out):
    return {part: json.loads((out / f"{part}.json").read_text()) for part in PARTS
            if (out / f"{part}.json").exists()}


def missing(part):
    for module in NEEDS.get(part, ()):
        try:
            found = importlib.util.find_spec(module) is not None
        except ModuleNotFoundError:
            found = False
        if not found:
            return module
    return None


def run_part(args, part):
    absent = missing(part)
    if absent is not None:
        print(f"{part}: skipped: no Python package {absent}", flush=True)
        return
    caches = args.out / f"{part}-caches"
    toolchain = os.environ.get("TSW_TOOLCHAIN", "")
    env = {**os.environ, "TRITON_CACHE_DIR": str(caches / "triton"),
           "CUPY_CACHE_DIR": str(caches / "cupy"), "CUDA_TILE_CACHE_DIR": str(caches / "cutile"),
           "CUDA_CACHE_DISABLE": "1"}
    if part in ("cutile", "judge"):  # the others keep the machine's own CUDA
        env.update(CUDA_HOME=toolchain, PATH=f"{toolchain}/bin:{os.environ['PATH']}")
    start = time.monotonic()
    command = [sys.executable, "-X", "faulthandler", __file__, args.tilesweep, str(args.out), "--parts", part, "--inside",
               "--rounds", str(args.rounds), "--device", args.device]
    done = subprocess.run(command, env=env)
    state = "done" if done.returncode == 0 else f"failed ({done.returncode})"
    print(f"{part}: {state} after {time.monotonic() - start:.1f} s", flush=True)


def print_searches(results):
    rows = []
    for problem, result in results.get("tilesweep", {}).items():
        rows.append((f"tilesweep {problem}", result))
    rows += [(part, results[part]) for part in PARTS[1:-1] if part in results]
    print(f"\n{'search':20} {'configs':>7} {'cold s':>8} {'configs/s':>9} {'warm s':>8} {'own us':>9}  pick")
    for name, r in rows:
        warm = f"{r['warm_wall_s']:8.1f}" if "warm_wall_s" in r else f"{'':8}"
        own = f"{r['own_us']:9.1f}" if r.get("own_us") else f"{'':9}"
        print(f"{name:20} {r['configs']:7} {r['wall_s']:8.1f} {r['configs'] / r['wall_s']:9.2f} {warm}"
              f" {own}  {r['pick']}")
    ours = results.get("tilesweep", {})
    for problem, r in ours.items():
        print(f"bound of pure compilation, {problem}: {r['compile_cpu_s']:.1f} CPU s / {r['cores']} cores"
              f" = {r['bound_s']:.1f} s, {r['wall_s'] / max(r['bound_s'], 1e-9):.2f} x that was taken")
    pairs = (("cutile", "matmul"), ("triton", "matmul"), ("kernel_tuner", "sgemm"))
    for part, problem in pairs:
        if part in results and problem in ours:
            rate = (ours[problem]["configs"] / ours[problem]["wall_s"]
                    / (results[part]["configs"] / results[part]["wall_s"]))
            print(f"tilesweep against {part}, cold, configs a second: {rate:.1f} x")


def print_judged(judged):
    for problem, contenders in judged.items():
        print(f"\n{problem}, one timer for all: {'us':>8} {'TFLOP/s':>8} {'tilesweep is faster by':>24}")
        for name, r in sorted(contenders.items(), key=lambda item: item[1]["median_us"]):
            print(f"  {name:24} {r['median_us']:8.2f} {r['tflops']:8.1f}"
                  f" {100 * r['tilesweep_is_faster_by']:+22.2f} %  (error {r['error']:.1e},"
                  f" {'graphs' if r['graph'] else 'queues'} of {r['launches']})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tilesweep")
    parser.add_argument("out", type=Path)
    parser.add_argument("--parts", default=",".join(PARTS), help="default: %(default)s")
    parser.add_argument("--device", default="cuda", help="of tilesweep (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=60, help="of the judge (default: %(default)s)")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.out = args.out.resolve()
    args.out.mkdir(parents=True, exist_ok=True)
    parts = args.parts.split(",")
    if args.inside:
        result = globals()[f"part_{parts[0]}"](args)
        (args.out / f"{parts[0]}.json").write_text(json.dumps(result, indent=1))
        return
    for part in parts:
        run_part(args, part)
    results = load_results(args.out)
    print_searches(results)
    print_judged(results.get("judge", {}))
    (args.out / "peers.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
