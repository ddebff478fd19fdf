#!/usr/bin/env python3
"""Read a sweep of tilesweep into pandas.

As a module: records(path) and samples(path) give one table each. As a program it prints the records:

    python3 read_sweep.py sweep.h5 [--csv]

docs/file-format.md describes the file; nothing but h5py, numpy and pandas is needed.
"""

import argparse

import h5py
import numpy as np
import pandas as pd

# Ids of other tables, by the table whose rows they are.
CELL_IDS = {"kernel": "kernels", "shape": "shapes", "gpu": "gpus", "node": "nodes"}


def table(sweep, name):
    """One table of an open file as a pandas table, texts as str."""
    rows = sweep[name][:]
    columns = {}
    for column in rows.dtype.names:
        values = rows[column]
        if values.dtype.kind == "S":
            values = np.char.decode(values, "utf-8")
        columns[column] = values
    return pd.DataFrame(columns)


def words(sweep, dataset, attribute):
    return [word.decode() for word in sweep[dataset].attrs[attribute]]


def join(left, column, right, prefix):
    """Replace the id in left[column] by the columns of right."""
    right = right.add_prefix(prefix)
    return left.drop(columns=column).join(right.iloc[left[column]].set_index(left.index))


def joined_cells(sweep):
    cells = table(sweep, "cells")
    modes = words(sweep, "cells", "cache_mode_names")
    cells["cache_mode"] = [modes[mode] for mode in cells["cache_mode"]]
    for column, other in CELL_IDS.items():
        prefix = "gpu_" if column == "gpu" else ""
        cells = join(cells, column, table(sweep, other), prefix)
    return cells.rename(columns={"key": "cell_key"})


def records(path):
    """All records with the columns of their cell, GPU, node, shape and config."""
    with h5py.File(path, "r") as sweep:
        result = table(sweep, "records")
        names = words(sweep, "records", "outcome_names")
        result["outcome"] = [names[outcome] for outcome in result["outcome"]]
        configs = table(sweep, "configs").rename(columns={"key": "config_key"})
        result = join(result, "config", configs, "")
        result = join(result, "cell", joined_cells(sweep), "")
        result.attrs["mode"] = sweep["meta"].attrs["mode"].decode()
        return result


def samples(path):
    """All samples: the number of their record, ns per launch, round and stage (a word)."""
    with h5py.File(path, "r") as sweep:
        rows = sweep["records"][:]
        counts = rows["n_samples"].astype(np.int64)
        record = np.repeat(np.arange(len(rows)), counts)
        if "launches" in sweep["samples"]:
            launches = sweep["samples/launches"][:]
        else:  # version 1.0: one number per record
            launches = rows["launches"][record]
        stages = np.array(words(sweep, "samples/stage", "stage_names"))
        return pd.DataFrame(
            {
                "record": record,
                "ns": sweep["samples/interval_ns"][:] / np.maximum(launches, 1),
                "round": sweep["samples/round"][:],
                "stage": stages[sweep["samples/stage"][:]],
                "slot": sweep["samples/slot"][:],
            }
        )


def main():
    parser = argparse.ArgumentParser(description="Print the records of a sweep.")
    parser.add_argument("sweep", help="sweep.h5 or one segment")
    parser.add_argument("--csv", action="store_true", help="all columns as CSV")
    options = parser.parse_args()
    result = records(options.sweep)
    if options.csv:
        print(result.to_csv(index=False), end="")
        return
    print(f"{len(result)} records, mode {result.attrs['mode']}; times in ns per launch")
    shown = ["pack", "variant", "shape", "config", "outcome", "node", "median_ns", "q1_ns", "q3_ns"]
    print(result[shown].to_string(index=False))


if __name__ == "__main__":
    main()
