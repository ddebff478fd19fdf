#!/usr/bin/env python3
"""Runs tests/gpu/faults.yaml and holds every config's outcome against the planted fault.

gpu_faults.py TILESWEEP [DEVICE]      exit 0: as expected, 1: not, 77: no GPU
"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# config -> outcome, and a word that its detail must have
EXPECTED = {
    "FAULT=0": ("ok", ""),
    "FAULT=1": ("wrong_result", "writes outside"),
    "FAULT=2": ("wrong_result", "writes outside"),
    "FAULT=3": ("wrong_result", "writes outside"),
    "FAULT=4": ("wrong_result", "writes outside"),
    "FAULT=5": ("wrong_result", "never written"),
    "FAULT=6": ("nan_result", "NaN"),
    "FAULT=7": ("wrong_result", "differ"),
    "FAULT=8": ("device_lost", ""),
    "FAULT=9": ("run_timeout", ""),
    "FAULT=10": ("device_lost", ""),
    "FAULT=11": ("device_lost", ""),
    "FAULT=12": ("wrong_result", ""),
    "FAULT=13": ("ok", ""),
    "PAST_BYTES=0 occupancy=1": ("ok", ""),
    "PAST_BYTES=0 occupancy=2": ("ok|alias", ""),
    "PAST_BYTES=16 occupancy=1": ("wrong_result", "writes outside"),
    "PAST_BYTES=4096 occupancy=1": ("wrong_result", "writes outside"),
    "PAST_BYTES=1048576 occupancy=1": ("wrong_result", "writes outside"),
    "APPROXIMATE=0": ("ok", ""),
    "APPROXIMATE=1": ("wrong_result", "differ"),
}
NO_GPU = 3  # exit code for an environment that lacks something


def check(records):
    """Number of configs that ended otherwise, or not at all; says each."""
    bad = 0
    seen = {record["config"]: record for record in records}
    for config, (outcome, word) in EXPECTED.items():
        record = seen.get(config, {"outcome": "absent", "detail": "", "samples": 0})
        good = record["outcome"] in outcome.split("|") and word in record["detail"]
        good = good and (record["outcome"] != "ok" or record["samples"] > 0)
        print("ok  " if good else "FAIL", config, record["outcome"], record["detail"])
        bad += not good
    return bad


def main():
    program = sys.argv[1]
    device = sys.argv[2] if len(sys.argv) > 2 else "cuda"
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        done = subprocess.run(
            [program, "run", HERE / "faults.yaml", "-o", run, "--device", device,
             "--cache", pathlib.Path(folder) / "cache"],
            capture_output=True, text=True)
        print(done.stderr, done.stdout, sep="")
        if done.returncode == NO_GPU:
            return 77
        shown = subprocess.run([program, "show", run, "--format", "json"], check=True,
                               capture_output=True, text=True)
        bad = check(json.loads(shown.stdout))
    print(f"{bad} of {len(EXPECTED)} not as expected")
    return 1 if bad or done.returncode not in (0, 1) else 0


if __name__ == "__main__":
    sys.exit(main())
