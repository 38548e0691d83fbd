#!/usr/bin/env bash
# Installs the notebook server for the tests of the notebook proxy: a Jupyter server with JupyterLab and a Python kernel, in a
# virtual environment. Needs Python 3.10 or newer and the package registry configured for pip. Prints the
# environment on standard output:
#   eval "$(scripts/setup/jupyter.sh)"
set -euo pipefail
cd "$(dirname "$0")/../.."
export PIP_DISABLE_PIP_VERSION_CHECK=1

venv="$PWD/.cache/jupyter"
requirements="test/interop/python/jupyter-requirements.txt"
python="${PYTHON:-$(command -v python3.11 || command -v python3)}"

if ! cmp -s "$requirements" "$venv/requirements.installed"; then
  "$python" -m venv --clear "$venv" >&2
  "$venv/bin/pip" install --quiet --requirement "$requirements" >&2
  cp "$requirements" "$venv/requirements.installed"
fi

printf 'export LOCKHOUSE_JUPYTER=%q\n' "$venv/bin/python"
