#!/usr/bin/env bash
# Installs the Debian 12 packages that building Roofcast needs; with --ci also those of .ci/run
# (linters, fuzzers, compiler cache). Needs root or sudo. Does nothing where all are installed.
set -euo pipefail

packages=(g++ cmake ninja-build pkg-config libfmt-dev nlohmann-json3-dev libyaml-cpp-dev
  libboost-program-options-dev libhwloc-dev doctest-dev libbenchmark-dev)
case "${1:-}" in
  "") ;;
  --ci) packages+=(git ccache clang clang-format clang-tidy libclang-rt-14-dev) ;;
  *) echo "usage: tools/setup.sh [--ci]" >&2; exit 2 ;;
esac

installed() { [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

sudo=()
[ "$(id -u)" -eq 0 ] || sudo=(sudo)
echo "Installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get -qq update
"${sudo[@]}" apt-get -qq -o Dpkg::Use-Pty=0 install --yes --no-install-recommends "${missing[@]}" >/dev/null
