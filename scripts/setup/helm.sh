#!/usr/bin/env bash
# Finds helm for the tests of the chart, or builds it into the cache with Go. Prints the environment:
#   eval "$(scripts/setup/helm.sh)"
set -euo pipefail

version=v3.19.0
bin="$(cd "$(dirname "$0")/../.." && pwd)/.cache/helm-$version"
if [ -z "${LOCKHOUSE_HELM:-}" ] && command -v helm >/dev/null; then
  LOCKHOUSE_HELM=$(command -v helm)
fi
if [ -z "${LOCKHOUSE_HELM:-}" ]; then
  if [ ! -x "$bin/helm" ]; then
    if ! command -v go >/dev/null; then
      echo 'helm: no helm and no go found; set LOCKHOUSE_HELM to helm' >&2
      exit 1
    fi
    mkdir -p "$bin"
    GOBIN="$bin" go install "helm.sh/helm/v3/cmd/helm@$version" >&2
  fi
  LOCKHOUSE_HELM=$bin/helm
fi
printf 'export LOCKHOUSE_HELM=%q\n' "$LOCKHOUSE_HELM"
