#!/usr/bin/env bash
# Fails where a .cpp file is in no CMake list, for then it is neither compiled nor, if a test, run.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake --preset tidy >/dev/null
unlisted=$(comm -23 \
  <(find model hardware microbench sim tests -path tests/fuzz -prune -o -name '*.cpp' -print | sort) \
  <(sed -n "s|^ *\"file\": \"$PWD/\(.*\)\",\?$|\1|p" build/tidy/compile_commands.json | sort))
[ -z "$unlisted" ] || { printf 'In no CMakeLists.txt:\n%s\n' "$unlisted" >&2; exit 1; }
