#!/usr/bin/env python3
"""Draw how the latencies of one config are distributed on each node.

    python3 plot_latency.py sweep.h5 --pack matmul --shape "M=4096 N=4096 K=4096" -o latency.png
        [--arch sm_90] [--variant "dtype=f16"] [--config "TILE_M=128 TILE_N=64 occupancy=2"]

Without --config: the baseline. One violin per node over the samples that decide (stages "round" and
"final"), with a point for each sample. Archs and variants are never mixed: where the files have
several, say which. A sweep holds each cell once, from one GPU; give several sweeps, or segments of
them, to compare nodes. h5py, numpy and matplotlib are all it needs.
"""

import argparse
import sys

import h5py
import matplotlib

matplotlib.use("Agg")  # draw into files, without a display
import matplotlib.pyplot as plt
import numpy as np


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def matching_cells(sweep, wanted):
    """The wanted cells, each with its arch and variant in words."""
    kernels, shapes = sweep["kernels"][:], sweep["shapes"][:]
    for cell in sweep["cells"][:]:
        kernel, shape = kernels[cell["kernel"]], text(shapes[cell["shape"]]["shape"])
        arch, variant = f"sm_{cell['arch']}", text(kernel["variant"])
        if (text(kernel["pack"]), shape) != (wanted.pack, wanted.shape):
            continue
        if wanted.arch in (None, arch) and wanted.variant in (None, variant):
            yield cell, f"{arch} {variant}"


def decisive_ns(sweep, record):
    """Latencies of one record in ns per launch, warm-up left out."""
    part = slice(int(record["first_sample"]), int(record["first_sample"] + record["n_samples"]))
    stages = sweep["samples/stage"]
    words = [text(word) for word in stages.attrs["stage_names"]]
    decisive = np.isin(stages[part], [i for i, w in enumerate(words) if w in ("round", "final")])
    launches = max(int(record["launches"]), 1)
    if "launches" in sweep["samples"]:
        launches = np.maximum(sweep["samples/launches"][part][decisive], 1)
    return sweep["samples/interval_ns"][part][decisive] / launches


def read_file(path, wanted):
    """Parts of one file: (node, arch and variant, latencies) of each cell; its unit and mode."""
    parts = []
    with h5py.File(path, "r") as sweep:
        unit = text(sweep["samples/interval_ns"].attrs["unit"])
        mode = text(sweep["meta"].attrs["mode"])
        configs, nodes = sweep["configs"][:], sweep["nodes"][:]
        for cell, kind in matching_cells(sweep, wanted):
            first, count = int(cell["first_record"]), int(cell["n_records"])
            for record in sweep["records"][first : first + count]:
                name = text(configs[record["config"]]["config"])
                if name == wanted.config or (not wanted.config and record["config_index"] == 0):
                    node = text(nodes[cell["node"]]["node"])
                    parts.append((node, kind, decisive_ns(sweep, record)))
    return [part for part in parts if len(part[2]) > 0], unit, mode


def collect(paths, wanted):
    """{node: latencies} over all files, in order of the nodes' names; unit and mode."""
    files = [read_file(path, wanted) for path in paths]
    units, modes = {unit for _, unit, _ in files}, {mode for _, _, mode in files}
    if len(units) > 1 or len(modes) > 1:
        sys.exit(f"plot_latency: files differ in unit {units} or mode {modes}")
    parts = [part for found, _, _ in files for part in found]
    kinds = sorted({kind for _, kind, _ in parts})
    if len(kinds) > 1:
        sys.exit(f"plot_latency: choose with --arch and --variant: {', '.join(kinds)}")
    nodes = {}
    for node, _, values in sorted(parts, key=lambda part: part[0]):
        nodes[node] = np.concatenate([nodes.get(node, values[:0]), values])
    return nodes, units.pop(), modes.pop()


def draw(nodes, unit, title, output):
    figure, axes = plt.subplots(figsize=(2 + 1.4 * len(nodes), 4.5), layout="constrained")
    jitter = np.random.default_rng(0)
    for position, values in enumerate(nodes.values(), start=1):
        if len(values) > 1 and np.ptp(values) > 0:
            axes.violinplot(values, [position], widths=0.8, showextrema=False)
        across = position + jitter.uniform(-0.12, 0.12, len(values))
        axes.plot(across, values, ".", markersize=3, color="0.25")
        axes.hlines(np.median(values), position - 0.3, position + 0.3, color="C3")
    labels = [f"{node}\nn = {len(values)}" for node, values in nodes.items()]
    axes.set_xticks(range(1, len(nodes) + 1), labels)
    axes.set_ylabel(f"latency per launch [{unit}]")
    axes.set_title(title, fontsize=9)
    figure.savefig(output, dpi=150)


def main():
    parser = argparse.ArgumentParser(description="Latencies of one config, by node.")
    parser.add_argument("sweeps", nargs="+", metavar="SWEEP.h5")
    parser.add_argument("--pack", required=True)
    parser.add_argument("--shape", required=True, help='as in the file: "M=4096 N=4096 K=4096"')
    parser.add_argument("--arch", help="sm_90; default: the only one")
    parser.add_argument("--variant", help='"dtype=f16"; default: the only one')
    parser.add_argument("--config", help="as in the file; default: the baseline")
    parser.add_argument("-o", "--output", required=True, help="file to draw into, .png or .pdf")
    options = parser.parse_args()
    nodes, unit, mode = collect(options.sweeps, options)
    if not nodes:
        sys.exit("plot_latency: no samples of this pack, arch, variant, shape and config")
    title = f"{options.pack}  {options.shape}\n{options.config or 'baseline'}"
    if mode != "cuda":
        title += f"\n{'simulated' if mode == 'sim' else mode}: not a measurement"
    draw(nodes, unit, title, options.output)
    for node, values in nodes.items():
        print(f"{node}: {len(values)} samples, median {np.median(values):.1f} {unit} per launch")


if __name__ == "__main__":
    main()
