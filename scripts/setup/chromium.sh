#!/usr/bin/env bash
# Finds the Chromium for the tests of the web page, or installs it (as root on Debian). Prints the environment:
#   eval "$(scripts/setup/chromium.sh)"
set -euo pipefail

chromium="${LOCKHOUSE_CHROMIUM:-$(command -v chromium || command -v chromium-browser || true)}"
if [ -z "$chromium" ]; then
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo 'chromium: no Chromium found; install it, or set LOCKHOUSE_CHROMIUM to its path' >&2
    exit 1
  fi
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium fonts-liberation; } >&2
  chromium=$(command -v chromium)
fi
printf 'export LOCKHOUSE_CHROMIUM=%q\n' "$chromium"
