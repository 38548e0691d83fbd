#!/usr/bin/env bash
# Starts a separate PostgreSQL server for the tests: loopback only, on a free port, in a temporary folder, without
# fsync (it has no valuable data). It trusts every role except with_password, and supports TLS with a self-signed
# certificate for "localhost". Installs PostgreSQL with apt if it is missing, unless called with --no-install;
# --install-only does only that. Prints the environment on standard output, with the command that stops and
# removes it:
#   eval "$(scripts/setup/postgres.sh)"; …; eval "$LOCKHOUSE_TEST_POSTGRES_STOP"
set -euo pipefail

find_bin() { # the newest server that Debian installed, or the one in PATH
  local debian on_path
  debian=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -t/ -k5 -n | tail -n 1)
  on_path=$(command -v initdb || true)
  if [ -n "$debian" ]; then echo "$debian"; elif [ -n "$on_path" ]; then dirname "$on_path"; fi
}

bin=$(find_bin)
if [ -z "$bin" ] && [ "${1:-}" = --no-install ]; then
  echo "no PostgreSQL server on this machine" >&2
  exit 1
fi
if [ -z "$bin" ]; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >&2
  apt-get install -y -qq --no-install-recommends postgresql >&2
  bin=$(find_bin)
fi
[ "${1:-}" = --install-only ] && exit 0

folder=$(mktemp -d "${TMPDIR:-/tmp}/lockhouse-postgres-XXXXXX")
as_owner() { "$@"; }
if [ "$(id -u)" -eq 0 ]; then # the server refuses to run as root
  chown postgres "$folder"
  as_owner() { (cd "$folder" && setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"); }
fi

port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })')
as_owner "$bin/initdb" -D "$folder/data" -U lockhouse -A trust -E UTF8 --locale=C.UTF-8 --no-sync >&2
as_owner sed -i '1i host all with_password all scram-sha-256' "$folder/data/pg_hba.conf"
as_owner openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost -keyout "$folder/data/server.key" -out "$folder/data/server.crt" >&2
chmod 755 "$folder"
cp "$folder/data/server.crt" "$folder/server.crt"
as_owner "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w -o "-p $port -c listen_addresses=127.0.0.1 -c ssl=on \
  -c unix_socket_directories='' -c fsync=off -c max_connections=200" start >&2

stop="$bin/pg_ctl -D $folder/data -m immediate stop"
if [ "$(id -u)" -eq 0 ]; then stop="(cd / && setpriv --reuid=postgres --regid=postgres --clear-groups -- $stop)"; fi
printf 'export LOCKHOUSE_TEST_POSTGRES=%q\n' "postgres://lockhouse@127.0.0.1:$port/postgres"
printf 'export LOCKHOUSE_TEST_POSTGRES_CA=%q\n' "$folder/server.crt"
printf 'export LOCKHOUSE_TEST_POSTGRES_STOP=%q\n' "$stop >&2; rm -rf $folder"
