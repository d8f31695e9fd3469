#!/usr/bin/env bash
# Trains, merges, exports and scores what this folder plans.
#   bash run.sh [--python PY] [--out DIR] [--resume]
# --python  a Python with the packages of requirements.txt; without it they are installed into .venv here
# --out     where the export goes; default: export, here
# --resume  go on from the last checkpoint
set -euo pipefail

usage() { printf 'run.sh: %s\nusage: bash run.sh [--python PY] [--out DIR] [--resume]\n' "$1" >&2; exit 2; }
absolute() { case $1 in /*) printf '%s\n' "$1" ;; *) printf '%s/%s\n' "$PWD" "$1" ;; esac; }

python='' out='' resume=()
while [ $# -gt 0 ]; do
  case $1 in
    --python) [ $# -ge 2 ] || usage 'expected a Python after --python'; python=$2; shift 2 ;;
    --out) [ $# -ge 2 ] || usage 'expected a folder after --out'; out=$(absolute "$2"); shift 2 ;;
    --resume) resume=(--resume); shift ;;
    *) usage "got $1, which is no option" ;;
  esac
done
# A path keeps its meaning when the folder changes; a bare name is looked up.
case $python in */*) python=$(absolute "$python") ;; esac

job=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$job"
out=${out:-$job/export}

if [ -z "$python" ]; then
  python=$job/.venv/bin/python
  if [ ! -e .venv/installed ] || ! cmp -s requirements.txt .venv/installed; then
    command -v python3 >/dev/null || { echo 'run.sh: no python3 on the path; name one with --python' >&2; exit 2; }
    python3 -m venv .venv
    "$python" -m pip install --quiet --disable-pip-version-check -r requirements.txt >&2
    cp requirements.txt .venv/installed
  fi
fi
command -v "$python" >/dev/null || { printf 'run.sh: %s is no Python that can be run\n' "$python" >&2; exit 2; }

export PYTHONPATH=$job PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
gpus=$("$python" -c 'import torch; print(torch.cuda.device_count())') ||
  { printf 'run.sh: %s lacks PyTorch; requirements.txt lists what is needed\n' "$python" >&2; exit 2; }
launch=("$python")
if [ "$gpus" -gt 1 ]; then launch=("$python" -m torch.distributed.run --standalone --nproc_per_node "$gpus"); fi
exec "${launch[@]}" -m trainer run --job "$job" --out "$out" ${resume[@]+"${resume[@]}"}
