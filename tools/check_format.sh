#!/usr/bin/env bash
# Fails where clang-format would change a file; with --fix lets it.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=(--dry-run -Werror)
[ "${1:-}" != --fix ] || mode=(-i)
find model hardware microbench sim tests -regextype egrep -regex '.*\.(cpp|hpp|cu|cuh)' -print0 |
  xargs -0 --no-run-if-empty clang-format "${mode[@]}"
