#!/bin/sh
# The main job, end to end: on this machine's GPU, or, where there is none, on two simulated
# architectures over four MPI ranks, with real compilation and simulated timing.
# usage: tools/demo.sh BIN_FOLDER JOB RUN_FOLDER
set -eu
bin=$1
job=$2
run=$3

show() { printf '+ %s\n' "$*" >&2; "$@"; }

# An old run makes room; anything else in that place is refused by `tilesweep run`.
[ ! -f "$run/plan.json" ] || rm -rf "$run"
if arch=$("$bin/tilesweep" devices --arch); then
    # Only the architecture that this machine can measure.
    here=$(mktemp "${TMPDIR:-/tmp}/tilesweep-demo.XXXXXX.yaml")
    trap 'rm -f "$here"' EXIT
    sed "s/^archs:.*/archs: [$arch]/" "$job" >"$here"
    show "$bin/tilesweep" run "$here" -o "$run"
else
    set -- mpirun -n 4
    if mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
        set -- "$@" --oversubscribe --bind-to none
        [ "$(id -u)" -ne 0 ] || set -- "$@" --allow-run-as-root
    fi
    show "$@" "$bin/tilesweep" run "$job" -o "$run" --device sim:h200,a100
fi
