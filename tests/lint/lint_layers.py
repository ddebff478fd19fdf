#!/usr/bin/env python3
"""Reads every #include of src/ against the table in layers.txt. usage: lint_layers.py ROOT"""
import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def read_table(path):
    layers, peers, vendors = {}, {}, {}
    for line in path.read_text().splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        left, right = line.split(":")
        words = left.split()
        if len(words) == 2:
            layers[words[1]] = int(words[0])
            peers[words[1]] = right.split()
        else:
            vendors[words[0]] = right.split()
    return layers, peers, vendors


def fault_of(module, include, layers, peers, vendors):
    """Why module may not include this, or None."""
    if include in vendors:
        if module not in vendors[include]:
            return f"{include} belongs to {', '.join(vendors[include])}"
        return None
    used = include.split("/")[0]
    if "/" not in include or used not in layers or used == module:
        return None
    if layers[used] < layers[module] or used in peers[module]:
        return None
    return f"{module} (layer {layers[module]}) may not use {used} (layer {layers[used]})"


def main():
    root = Path(sys.argv[1])
    table = read_table(Path(__file__).with_name("layers.txt"))
    faults, seen = [], 0
    for path in sorted((root / "src").glob("*/*.[ch]")):
        module = path.parent.name
        if module not in table[0]:
            faults.append(f"{path.relative_to(root)}: module {module} is not in layers.txt")
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            seen += 1
            fault = fault_of(module, match[1] or match[2], *table)
            if fault:
                faults.append(f"{path.relative_to(root)}:{number}: {fault}")
    print("\n".join(faults) or f"{seen} includes in order")
    return 1 if faults or seen == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
