#!/usr/bin/env bash
# Installs libraries with which interop tests use the served catalog: a program over iceberg-go, and DuckDB with its
# extension for Iceberg in a virtual environment. Needs Go 1.25 or later and Python 3.11. With --rust also a program over
# iceberg-rust, whose build takes many minutes; needs Rust 1.94 or later. Prints the environment on standard output:
#   eval "$(scripts/setup/catalog-clients.sh)"
set -euo pipefail
cd "$(dirname "$0")/../.."
export PIP_DISABLE_PIP_VERSION_CHECK=1

cache="$PWD/.cache/catalog-clients"
sources="$PWD/test/interop/clients"
requirements="$sources/duckdb/requirements.txt"
python="${PYTHON:-$(command -v python3.11 || command -v python3)}"

mkdir -p "$cache"

if ! cmp -s "$requirements" "$cache/requirements.installed"; then
  "$python" -m venv --clear "$cache/duckdb" >&2
  "$cache/duckdb/bin/pip" install --quiet --requirement "$requirements" >&2
  cp "$requirements" "$cache/requirements.installed"
fi

# Go knows itself what has changed.
(cd "$sources/go" && go build -mod=readonly -o "$cache/go-client" . >&2)

printf 'export LOCKHOUSE_DUCKDB_PYTHON=%q\n' "$cache/duckdb/bin/python"
printf 'export LOCKHOUSE_GO_CLIENT=%q\n' "$cache/go-client"

if [ "${1:-}" = --rust ]; then
  (cd "$sources/rust" && cargo build --quiet --target-dir "$cache/rust" >&2)
  printf 'export LOCKHOUSE_RUST_CLIENT=%q\n' "$cache/rust/debug/client"
fi
