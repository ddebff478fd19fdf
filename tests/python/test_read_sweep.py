import re
import subprocess
import sys

import numpy as np
import read_sweep


def test_records_join_all_tables(sweep):
    records = read_sweep.records(sweep)
    assert len(records) == 4 * 5
    assert records.attrs["mode"] == "sim"
    assert set(records["pack"]) == {"demo"}
    assert set(records["node"]) == {"node0", "node1"}
    assert set(records["gpu_uuid"]) == {"sim:h200:0", "sim:h200:1"}
    assert set(records["peak_memory_bytes"]) == {123456789}
    assert set(records["cache_mode"]) == {"cold_flush"}
    outcomes = dict(zip(records["config"], records["outcome"]))
    assert outcomes["TILE_M=64 occupancy=2"] == "compile_failed"
    assert outcomes["TILE_M=64 occupancy=3"] == "alias"
    assert outcomes["TILE_M=64 occupancy=5"] == "ok"
    # Each cell keeps its own node: cell n stands on node n mod 2, with that rank.
    assert (records["node"] == "node" + records["rank"].astype(str)).all()


def test_derived_columns_follow_from_the_samples(sweep):
    records = read_sweep.records(sweep)
    samples = read_sweep.samples(sweep)
    assert len(samples) == records["n_samples"].sum()
    decisive = samples[samples["stage"] == "round"].groupby("record")["ns"]
    timed = records[records["n_samples"] > 0]
    assert len(decisive) == len(timed) == 4 * 3
    np.testing.assert_array_equal(decisive.median(), timed["median_ns"])
    np.testing.assert_array_equal(decisive.min(), timed["min_ns"])
    np.testing.assert_allclose(decisive.std(), timed["std_ns"], rtol=1e-12)
    np.testing.assert_allclose(decisive.quantile(0.25), timed["q1_ns"], rtol=1e-12)
    warmup = samples[samples["stage"] == "warmup"].groupby("record").size()
    np.testing.assert_array_equal(warmup, timed["n_warmup"])
    assert records[records["n_samples"] == 0]["median_ns"].isna().all()


def test_it_prints_as_text_and_csv(analysis, sweep):
    command = [sys.executable, str(analysis / "read_sweep.py"), str(sweep)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert text.startswith("20 records, mode sim; times in ns per launch\n")
    csv = subprocess.run(command + ["--csv"], capture_output=True, text=True, check=True).stdout
    lines = csv.splitlines()
    assert len(lines) == 21
    assert "median_ns" in lines[0].split(",")


def test_the_example_of_the_format_page_runs(analysis, sweep):
    page = (analysis.parent / "docs" / "file-format.md").read_text()
    example = re.search(r"```python\n(.*?)```", page, re.DOTALL).group(1)
    command = [sys.executable, "-c", example]
    done = subprocess.run(command, cwd=sweep.parent, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 20
    assert re.fullmatch(r"TILE_M=64 occupancy=1 ok \d+\.\d+ ns per launch 14", lines[0])
