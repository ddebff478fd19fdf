#!/bin/sh
# Compiles all configs of a job that measures nothing, without a GPU, and says per architecture what came
# of it. OUT/compiled.csv has a row per config: registers, spills, shared memory, cluster, and which have
# equal code. Fails when a config does not compile.
# usage: tools/compile_all.sh BIN_FOLDER JOB OUT      exit code 77: there is no CUDA Tile toolchain
set -eu
bin=$1
job=$2
out=$3

rm -rf "$out/run"
mkdir -p "$out"
status=0
"$bin/tilesweep" run "$job" -o "$out/run" -q >"$out/run.txt" 2>"$out/errors.txt" || status=$?
cat "$out/errors.txt" >&2
if [ "$status" -eq 3 ]; then
    exit 77
fi
head -n 3 "$out/run.txt"
"$bin/tilesweep" show "$out/run" --format csv >"$out/compiled.csv"
awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    { arch = $column["arch"]; all[arch]++ }
    $column["outcome"] != "compiled" { failed++; print "not compiled: " $0 }
    $column["spill_bytes"] > 0 { spill[arch]++ }
    $column["spill_bytes"] > most[arch] { most[arch] = $column["spill_bytes"] }
    $column["cluster"] > 1 { cluster[arch]++ }
    /,the code of / { same[arch]++ }
    END {
        for (arch in all)
            printf "%-7s %4d configs compiled, %4d spill (%d bytes at most), %4d in clusters, %4d with the code of another\n",
                   arch, all[arch], spill[arch], most[arch], cluster[arch], same[arch] | "sort"
        close("sort")
        exit failed > 0
    }' "$out/compiled.csv"
exit "$status"
