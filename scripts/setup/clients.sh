#!/usr/bin/env bash
# Installs the tools that check the OpenAPI document: a validator, schemathesis and the Python client generator in a virtual
# environment; the TypeScript client generator with the compiler that it needs in a separate folder. Needs Python 3.11
# and npm. Prints the environment on standard output:
#   eval "$(scripts/setup/clients.sh)"
set -euo pipefail
cd "$(dirname "$0")/../.."
export PIP_DISABLE_PIP_VERSION_CHECK=1

cache="$PWD/.cache/clients"
requirements="test/interop/openapi/requirements.txt"
packages="test/interop/openapi/npm-packages.txt"
python="${PYTHON:-$(command -v python3.11 || command -v python3)}"

mkdir -p "$cache"

if ! cmp -s "$requirements" "$cache/requirements.installed"; then
  "$python" -m venv --clear "$cache/venv" >&2
  "$cache/venv/bin/pip" install --quiet --requirement "$requirements" >&2
  cp "$requirements" "$cache/requirements.installed"
fi

if ! cmp -s "$packages" "$cache/npm-packages.installed"; then
  rm -rf "$cache/npm"
  mkdir -p "$cache/npm"
  # shellcheck disable=SC2046 -- one package per line
  npm install --silent --no-audit --no-fund --prefix "$cache/npm" $(cat "$packages") >&2
  cp "$packages" "$cache/npm-packages.installed"
fi

printf 'export LOCKHOUSE_CLIENTS=%q\n' "$cache"
