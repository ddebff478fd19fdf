#!/usr/bin/env bash
# Every shipped pack on one GPU, the 108-config matmul space cold and warm, and compute-sanitizer beside
# the tool's own verification. Prints and keeps what docs/measured.md quotes.
#
#   tests/perf/packs.sh TILESWEEP OUT      OUT: an empty folder for raw files; TSW_TOOLCHAIN as for run
set -euo pipefail
tool=$1
out=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$tool" devices | tee "$out/devices.txt"
"$tool" run "$here/packs.yaml" -o "$work/packs" --cache "$work/cache" > "$out/packs.txt"
head -3 "$out/packs.txt"
"$tool" show "$work/packs" --format csv | gzip > "$out/packs.csv.gz"
cp "$work/packs/tables/sm_90.json" "$out/packs.sm_90.json"

for i in 1 2; do
    for kind in cold warm; do
        "$tool" run "$here/matmul108.yaml" -o "$work/$kind$i" --cache "$work/cache108-$i" 2>&1 | sed -n 1,3p
    done
done | tee "$out/m108.txt"

"$tool" bench matmul M=8192 N=8192 K=8192 dtype=f16 --cache "$work/cache" \
    --config "TILE_M=128 TILE_N=128 TILE_K=64 occupancy=2 num_ctas=1" | tee "$out/matmul8192.txt"

if command -v compute-sanitizer > /dev/null; then
    memcheck() {
        echo "== $*"
        compute-sanitizer --tool memcheck --target-processes all "$tool" verify "$@" --cache "$work/cache" 2>&1 |
            grep -E 'outcome|verified|Invalid|ERROR SUMMARY' || true
    }
    {
        memcheck rmsnorm M=64 N=1000 dtype=f16
        memcheck matmul M=127 N=290 K=100 dtype=f16
        memcheck rope S=33 H=8 D=64 dtype=f16
        memcheck sgemm M=65 N=70 K=33 dtype=f32
        memcheck "$here/../gpu/packs/faults" N=1000 dtype=f32 --config FAULT=10 # the control
    } | tee "$out/sanitizer.txt"
fi
