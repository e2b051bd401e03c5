#!/usr/bin/env bash
# From a bare Debian 12 to all tests passed: installs the packages, builds the release preset, runs
# every test. Ends with CTest's summary.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh
cmake --preset release
cmake --build --preset release --parallel "$(nproc)"
ctest --preset release
