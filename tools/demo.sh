#!/usr/bin/env bash
# From a bare Debian 12 to the main job: installs the packages, builds, measures this CPU, and
# compares the predicted with the measured decode speed of one model on it.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh
cmake --preset release -D ROOFCAST_TESTS=OFF -D ROOFCAST_BENCH=OFF
cmake --build --preset release --target roofcast --parallel "$(nproc)"

mkdir -p build/demo
build/release/roofcast calibrate --device cpu --quick --output build/demo/cpu.yaml
build/release/roofcast validate --device cpu --model qwen3-0.6b --hardware build/demo/cpu.yaml \
  --contexts 128,1024,4096 --batches 1,4
echo "Done in $SECONDS s."
