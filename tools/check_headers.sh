#!/usr/bin/env bash
# Compiles every header alone, with the include directories that linking its library gives.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake --preset tidy >/dev/null
cmake --build --preset tidy --target check_headers --parallel "$(nproc)"
