#!/usr/bin/env bash
# The NF4 path on a machine with a CUDA GPU: a LoRA verifier trained on the 4-bit base with the paged 8-bit optimiser and bfloat16, merged in full
# precision, exported, imported through the parity gate and judged in Node. Prints the effective settings, the gate's table and macro-F1 by form.
#
#   bash bench/verifier-gpu.sh FOLDER TRAIN_LABELS DEV_LABELS BASE [flags of verifier plan…]
#
# TRAIN_LABELS, DEV_LABELS: folders of `hopgate labels build` (the second with --dev-share 1, of other questions). BASE: a folder with a base model,
# or its name on the hub (Qwen/Qwen2.5-3B-Instruct: 6 GB are fetched by the trainer). In a clone, built. Needs python3 and about 30 GB for a base
# of 3 billion parameters. The tests never run this: they have no GPU.
set -euo pipefail

[ $# -ge 4 ] || { sed -n '5p' "$0" | cut -c5- >&2; exit 2; }
repository=$(cd "$(dirname "$0")/.." && pwd)
folder=$1 train=$2 dev=$3 base=$4
shift 4
hopgate() { node "$repository/dist/src/cli/main.js" "$@"; }
export HOPGATE_HOME=$folder/home

hopgate verifier plan --labels "$train" --base "$base" --quantisation nf4 --optimizer paged_adamw_8bit --compute-dtype bf16 \
  --variants fp32,fp16,int4 --seed 13 "$@" --out "$folder/job" --resume
hopgate verifier train "$folder/job" --out "$folder/export" --resume
cat "$folder/export/effective.json"
hopgate verifier import "$folder/export" --job "$folder/job" --name gpu --force
for variant in fp32 fp16 int4; do
  hopgate verifier evaluate gpu --labels "$dev" --balance --variant "$variant" || echo "no $variant: the gate refused it"
done
