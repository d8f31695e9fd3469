#!/usr/bin/env bash
# The README's diagnostic on the real samples, from files to tables: bench/real-samples.sh DATA OUT
# DATA holds hotpotqa_train_800.json, 2wiki_train_500.json, musique_{train,dev}_100.jsonl and their followups_*.jsonl. A few minutes.
set -euo pipefail
data=${1:?folder of the samples} out=${2:?output folder}
hopgate() { node "$(dirname "$0")/../dist/src/cli/main.js" "$@"; }
mkdir -p "$out"

run() { # name, file, follow-ups
  hopgate trajectories run "$data/$2" --agent scripted --followups "$data/$3" --out "$out/$1"
  for source in gold heuristic; do hopgate claims build "$out/$1" --source "$source"; done
  hopgate embed "$out/$1" --claim-text subquestion-or-title,expected_claim
  hopgate decide "$out/$1" --decider gold
}
run hotpotqa hotpotqa_train_800.json followups_hotpotqa.jsonl
run 2wiki 2wiki_train_500.json followups_2wiki.jsonl
run musique-train musique_train_100.jsonl followups_musique.jsonl
run musique-dev musique_dev_100.jsonl followups_musique.jsonl

# The two MuSiQue files are one dataset: runs of one name are joined in the order given.
runs=("$out/hotpotqa" "$out/2wiki" "$out/musique-train" "$out/musique-dev")
hopgate calibrate "${runs[@]}" --decider gold --claims gold --claim-text subquestion-or-title --out "$out/calibration-gold"
hopgate calibrate "${runs[@]}" --decider gold --claims heuristic --out "$out/calibration-heuristic"
hopgate replay "${runs[@]}" --profile "$out/calibration-gold/profile.json" --out "$out/replay-gold"
hopgate report "$out" --out "$out/report"
