#!/usr/bin/env bash
# Installs the software that interop tests and benchmarks compare Lockhouse with: PyIceberg and PySpark (4 and 3.5) in virtual environments, the
# Iceberg runtime for Spark, the SQLite driver for its JDBC catalog, Iceberg's own REST catalog server and its compatibility kit. Needs Python
# 3.11, a JDK 17 and Maven, and uses the package registries configured for pip and Maven. Prints the
# environment on standard output:
#   eval "$(scripts/setup/interop.sh)"
set -euo pipefail
cd "$(dirname "$0")/../.."
export PIP_DISABLE_PIP_VERSION_CHECK=1

cache="$PWD/.cache/interop"
requirements="test/interop/python/requirements.txt"
iceberg_version="${ICEBERG_VERSION:-1.11.0}"
runtime="iceberg-spark-runtime-4.0_2.13"
spark35_version="${SPARK35_VERSION:-3.5.6}"
spark35_runtime="iceberg-spark-runtime-3.5_2.12"
sqlite_version="${SQLITE_JDBC_VERSION:-3.50.3.0}"
python="${PYTHON:-$(command -v python3.11 || command -v python3)}"

mkdir -p "$cache"

if ! cmp -s "$requirements" "$cache/requirements.installed"; then
  "$python" -m venv --clear "$cache/venv" >&2
  "$cache/venv/bin/pip" install --quiet --requirement "$requirements" >&2
  cp "$requirements" "$cache/requirements.installed"
fi

# Spark 3.5 in addition to Spark 4: many lakehouses still use it.
if [ "$(cat "$cache/spark35.installed" 2>/dev/null)" != "$spark35_version" ]; then
  "$python" -m venv --clear "$cache/spark35" >&2
  "$cache/spark35/bin/pip" install --quiet "pyspark==$spark35_version" >&2
  echo "$spark35_version" >"$cache/spark35.installed"
fi

# Copies an artifact from Maven's local repository, and downloads it first if it is missing.
jar() {
  local coordinates="$1" target="$2"
  if [ ! -s "$target" ]; then
    mvn --quiet --batch-mode dependency:get "-Dartifact=$coordinates" -Dtransitive=false >&2
    mvn --quiet --batch-mode dependency:copy "-Dartifact=$coordinates" "-DoutputDirectory=$cache" \
      -Dmdep.overWriteReleases=false >&2
  fi
  [ -s "$target" ] || { echo "interop: $coordinates is not in $cache" >&2; exit 1; }
}

jar "org.apache.iceberg:$runtime:$iceberg_version" "$cache/$runtime-$iceberg_version.jar"
jar "org.apache.iceberg:$spark35_runtime:$iceberg_version" "$cache/$spark35_runtime-$iceberg_version.jar"
jar "org.xerial:sqlite-jdbc:$sqlite_version" "$cache/sqlite-jdbc-$sqlite_version.jar"

# Copies the jars that a pom names, with all their dependencies.
jars() {
  local pom="$1" folder="$2"
  cmp -s "$pom" "$folder/pom.installed" && return
  rm -rf "$folder"
  mvn --quiet --batch-mode --file "$pom" dependency:copy-dependencies -DincludeScope=runtime \
    "-DoutputDirectory=$folder" >&2
  cp "$pom" "$folder/pom.installed"
}

jars test/interop/rest-server/pom.xml "$cache/rest-server"
jars test/interop/rest-kit/pom.xml "$cache/rest-kit"

printf 'export LOCKHOUSE_PYTHON=%q\n' "$cache/venv/bin/python"
printf 'export ICEBERG_SPARK_JAR=%q\n' "$cache/$runtime-$iceberg_version.jar"
printf 'export LOCKHOUSE_SPARK35_PYTHON=%q\n' "$cache/spark35/bin/python"
printf 'export ICEBERG_SPARK35_JAR=%q\n' "$cache/$spark35_runtime-$iceberg_version.jar"
printf 'export SQLITE_JDBC_JAR=%q\n' "$cache/sqlite-jdbc-$sqlite_version.jar"
printf 'export ICEBERG_REST_JARS=%q\n' "$cache/rest-server"
printf 'export ICEBERG_REST_KIT_JARS=%q\n' "$cache/rest-kit"
