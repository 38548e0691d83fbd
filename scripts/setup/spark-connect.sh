#!/usr/bin/env bash
# Installs Spark 4.1 with its Connect server and the Iceberg runtime for it, beside what interop.sh installs: for the tests in
# test/interop/spark-connect. Prints the environment on standard output:
#   eval "$(scripts/setup/interop.sh)"; eval "$(scripts/setup/spark-connect.sh)"
set -euo pipefail
cd "$(dirname "$0")/../.."
export PIP_DISABLE_PIP_VERSION_CHECK=1

cache="$PWD/.cache/interop"
iceberg_version="${ICEBERG_VERSION:-1.11.0}"
# The newest Spark that this version of Iceberg has a runtime for; only its jars are used, with the Connect server among them.
version="${SPARK_CONNECT_VERSION:-4.1.4}"
runtime="iceberg-spark-runtime-4.1_2.13"
target="$cache/$runtime-$iceberg_version.jar"

mkdir -p "$cache"
if [ "$(cat "$cache/spark-connect.installed" 2>/dev/null)" != "$version" ]; then
  rm -rf "$cache/spark-connect"
  "${LOCKHOUSE_PYTHON:-$cache/venv/bin/python}" -m pip install --quiet --no-deps --target "$cache/spark-connect" "pyspark==$version" >&2
  echo "$version" >"$cache/spark-connect.installed"
fi
if [ ! -s "$target" ]; then
  coordinates="org.apache.iceberg:$runtime:$iceberg_version"
  mvn --quiet --batch-mode dependency:get "-Dartifact=$coordinates" -Dtransitive=false >&2
  mvn --quiet --batch-mode dependency:copy "-Dartifact=$coordinates" "-DoutputDirectory=$cache" -Dmdep.overWriteReleases=false >&2
fi

printf 'export SPARK_CONNECT_HOME=%q\n' "$cache/spark-connect/pyspark"
printf 'export ICEBERG_SPARK_CONNECT_JAR=%q\n' "$target"
