import argparse
import subprocess
import sys

import h5py
import numpy as np
import plot_latency

SHAPE = "M=128 N=256"
CONFIG = "TILE_M=64 occupancy=4"


def wanted(**more):
    """Options as of the command line: config of the made-up sweep, unless told otherwise."""
    options = {"pack": "demo", "shape": SHAPE, "arch": None, "variant": None, "config": CONFIG}
    return argparse.Namespace(**(options | more))


def run(analysis, sweep, output, *options):
    command = [sys.executable, str(analysis / "plot_latency.py"), str(sweep), "--pack", "demo"]
    command += ["--shape", SHAPE, "-o", str(output), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_samples_of_each_node(sweep):
    nodes, unit, mode = plot_latency.collect([sweep], wanted())
    assert unit == "ns"
    assert mode == "sim"
    assert list(nodes) == ["node0", "node1"]
    for values in nodes.values():
        assert len(values) == 12  # rounds, without the 2 warm-up samples
        # config 3: 10300 ns and up to 63 more over 4 launches; warm-up is twice as long
        assert values.min() >= 10300 / 4
        assert values.max() <= 10363 / 4
    assert not np.array_equal(nodes["node0"], nodes["node1"])


def test_samples_agree_with_the_derived_columns(sweep):
    nodes, _, _ = plot_latency.collect([sweep], wanted())
    with h5py.File(sweep) as file:
        medians = {
            file["nodes"][file["cells"][row["cell"]]["node"]]["node"].decode(): row["median_ns"]
            for row in file["records"][:]
            if row["config_index"] == 3
            and file["shapes"][file["cells"][row["cell"]]["shape"]]["shape"] == SHAPE.encode()
        }
    assert {node: np.median(values) for node, values in nodes.items()} == medians


def test_unit_comes_from_the_file(sweep, tmp_path):
    other = tmp_path / "other.h5"
    other.write_bytes(sweep.read_bytes())
    with h5py.File(other, "r+") as file:
        del file["samples/interval_ns"].attrs["unit"]
        file["samples/interval_ns"].attrs["unit"] = np.bytes_("ticks")
    _, unit, _ = plot_latency.collect([other], wanted())
    assert unit == "ticks"


def test_without_config_it_is_the_baseline(sweep):
    nodes, _, _ = plot_latency.collect(
        [sweep], wanted(variant="dtype=f16 causal=1", config=None)
    )
    assert [len(values) for values in nodes.values()] == [12, 12]
    assert all(values.max() <= 10063 / 4 for values in nodes.values())


def test_archs_are_never_mixed(analysis, sweep, tmp_path):
    two = tmp_path / "two.h5"
    two.write_bytes(sweep.read_bytes())
    with h5py.File(two, "r+") as file:
        cells = file["cells"][:]
        shapes = [file["shapes"][cell["shape"]]["shape"] for cell in cells]
        first = shapes.index(SHAPE.encode())
        cells["arch"][first] = 80
        file["cells"][:] = cells
    done = run(analysis, two, tmp_path / "two.png", "--config", CONFIG)
    assert done.returncode == 1
    assert "sm_80 dtype=f16 causal=1, sm_90 dtype=f16 causal=1" in done.stderr
    nodes, _, _ = plot_latency.collect([two], wanted(arch="sm_80"))
    assert [len(values) for values in nodes.values()] == [12]


def test_a_figure_is_drawn(analysis, sweep, tmp_path):
    output = tmp_path / "latency.png"
    done = run(analysis, sweep, output, "--config", CONFIG)
    assert done.returncode == 0, done.stderr
    assert output.read_bytes().startswith(b"\x89PNG")
    assert "node0: 12 samples" in done.stdout
    assert "ns per launch" in done.stdout


def test_nothing_found_is_an_error(analysis, sweep, tmp_path):
    output = tmp_path / "none.png"
    # config 1 failed to compile: no samples
    done = run(analysis, sweep, output, "--config", "TILE_M=64 occupancy=2")
    assert done.returncode == 1
    assert "no samples" in done.stderr
    assert not output.exists()
