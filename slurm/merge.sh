#!/bin/bash
# Joins the parts of an array job into RUN/sweep.h5 and makes the tables: by hand, or
#   sbatch --dependency=afterany:ARRAY_JOB slurm/merge.sh RUN
# Exit code 4, with the list of them, when parts are not done: slurm/resume.sh RUN goes on with those.
#SBATCH --job-name=tilesweep-merge --ntasks=1 --time=00:30:00 --output=%x-%j.log
set -eu
[ $# = 1 ] || { echo "usage: merge.sh RUN" >&2; exit 2; }
script=$(readlink -f "$0")
[ -z "${SLURM_JOB_ID:-}" ] ||
    script=$(scontrol show job "$SLURM_JOB_ID" | sed -n 's/^ *Command=\([^ ]*\).*/\1/p;T;q')
home=$(dirname "$(dirname "$script")")
# shellcheck source=slurm/launch.sh
. "$home/slurm/launch.sh"
run=$1
program=$(tsw_find "$home")
open=$(tsw_open_parts "$run")
[ -z "$open" ] || { echo "$run: parts that are not done: $open" >&2; exit 4; }
"$program" merge "$run"/part-*-of-* -o "$run/sweep.h5"
"$program" reduce "$run/sweep.h5" -o "$run/tables"
