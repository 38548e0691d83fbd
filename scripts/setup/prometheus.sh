#!/usr/bin/env bash
# Finds Prometheus and promtool for the tests of the metrics, or unpacks Debian's package into the cache. Nothing is
# installed on the system, so no system service starts. Prints the environment:
#   eval "$(scripts/setup/prometheus.sh)"
set -euo pipefail

bin="$(cd "$(dirname "$0")/../.." && pwd)/.cache/prometheus/usr/bin"
if [ -z "${LOCKHOUSE_PROMETHEUS:-}" ] && command -v prometheus >/dev/null && command -v promtool >/dev/null; then
  LOCKHOUSE_PROMETHEUS=$(dirname "$(command -v prometheus)")
fi
if [ -z "${LOCKHOUSE_PROMETHEUS:-}" ]; then
  if [ ! -x "$bin/prometheus" ] || [ ! -x "$bin/promtool" ]; then
    if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
      echo 'prometheus: no Prometheus found; set LOCKHOUSE_PROMETHEUS to the folder of prometheus and promtool' >&2
      exit 1
    fi
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    { [ "$(id -u)" -ne 0 ] || apt-get update -qq; } >&2
    (cd "$work" && apt-get -o APT::Sandbox::User=root download -qq prometheus) >&2
    mkdir -p "${bin%/usr/bin}"
    dpkg-deb -x "$work"/prometheus_*.deb "${bin%/usr/bin}" >&2
  fi
  LOCKHOUSE_PROMETHEUS=$bin
fi
printf 'export LOCKHOUSE_PROMETHEUS=%q\n' "$LOCKHOUSE_PROMETHEUS"
