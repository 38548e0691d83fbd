#!/usr/bin/env bash
# Finds or, as root on Debian, installs the Chromium that the tests of the web page drive. Prints the environment:
#   eval "$(scripts/chromium-setup.sh)"
set -euo pipefail

chromium="${LOCKHOUSE_CHROMIUM:-$(command -v chromium || command -v chromium-browser || true)}"
if [ -z "$chromium" ]; then
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo 'chromium-setup: no Chromium found; install one, or name it in LOCKHOUSE_CHROMIUM' >&2
    exit 1
  fi
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium fonts-liberation; } >&2
  chromium=$(command -v chromium)
fi
printf 'export LOCKHOUSE_CHROMIUM=%q\n' "$chromium"
