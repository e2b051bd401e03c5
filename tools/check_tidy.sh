#!/usr/bin/env bash
# Runs clang-tidy over the sources, tests aside. With a commit as argument only over the folders in
# which something changed since then, or over all when the checks or a base header changed.
#   tools/check_tidy.sh [<commit>]
set -euo pipefail
cd "$(dirname "$0")/.."

sources() { find "$@" -name '*.cpp' -print0; }

folders=(model hardware microbench sim)
if [ $# -gt 0 ]; then
  changed=$(git diff --name-only "$1" -- .clang-tidy '*.cpp' '*.hpp')
  if ! grep -qE '^(\.clang-tidy|model/base/.*\.hpp)$' <<<"$changed"; then
    mapfile -t folders < <(grep -E '^(model|hardware|microbench|sim)/' <<<"$changed" | xargs -r dirname | sort -u |
      while read -r folder; do [ ! -d "$folder" ] || echo "$folder"; done)
  fi
fi
[ ${#folders[@]} -gt 0 ] || { echo "No source changed since $1"; exit 0; }

cmake --preset tidy >/dev/null
sources "${folders[@]}" | sort -zu |
  xargs -0 --no-run-if-empty --max-args=1 --max-procs="$(nproc)" clang-tidy --quiet -p build/tidy 2>&1 |
  { grep -vE '^[0-9]+ warnings? generated\.$' || true; }
