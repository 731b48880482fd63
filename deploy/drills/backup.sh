#!/usr/bin/env bash
# Proves that a backup can be restored: a system under load is backed up (a dump, and a base backup with its write-ahead log), loses its database, and is
# brought back from each backup into an empty server, where it serves and both verify commands find no fault. Prints figures, and ends with 0 only if so.
#
#   deploy/drills/backup.sh
#
# Needs the PostgreSQL server and tools of Debian (apt-get install postgresql), in PG_BIN, and Redis as npm start does. Everything is in a temporary folder.
set -euo pipefail
cd "$(dirname "$0")/../.."
PG_BIN=${PG_BIN:-$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)}
[ -x "$PG_BIN/pg_basebackup" ] || { echo 'There is no PostgreSQL here: apt-get install postgresql, or set PG_BIN'; exit 2; }
work=$(mktemp -d) failed=0 system=
chmod 711 "$work"
user=() ; [ "$(id -u)" != 0 ] || { chown postgres "$work"; user=(setpriv --reuid=postgres --regid=postgres --clear-groups); }
now() { date +%s%3N; }
say() { printf '%s\n' "$*"; }
free_port() { node -e "const s = require('net').createServer().listen(0, () => { console.log(s.address().port); s.close(); })"; }
pg() { "${user[@]}" env HOME="$work" PGHOST="$work" PGUSER=postgres "$PG_BIN/$@"; }
start_server() { # start_server FOLDER PORT
  pg pg_ctl start -s -w -D "$work/$1" -l "$work/$1.log" -o "-p $2 -k $work -c listen_addresses=127.0.0.1 -c max_connections=200" >/dev/null
}
stop_server() { pg pg_ctl stop -s -m "${2:-fast}" -D "$work/$1" >/dev/null 2>&1 || true; }
finish() {
  [ -z "$system" ] || { kill "$system" 2>/dev/null && wait "$system" 2>/dev/null; } || true
  for each in primary dump time; do [ ! -d "$work/$each" ] || stop_server "$each" immediate; done
  rm -rf "$work"
}
trap finish EXIT
limits=(RATE_LIMIT_READS_PER_MINUTE=1000000 RATE_LIMIT_WRITES_PER_MINUTE=1000000 RATE_LIMIT_MESSAGES_PER_MINUTE=1000000)
start_system() { # start_system DATA_DIR DATABASE_PORT
  url="postgres://postgres@127.0.0.1:$2/agent_service" data="$work/$1" port=$(free_port)
  mkdir -p "$data"
  # shellcheck disable=SC2016
  env "${limits[@]}" PORT="$port" DATA_DIR="$data" DATABASE_URL="$url" npm start --silent >"$work/$1.system.log" 2>&1 &
  system=$!
  for _ in $(seq 600); do curl -sf "http://127.0.0.1:$port/readyz" >/dev/null && return; kill -0 $system 2>/dev/null || break; sleep 0.2; done
  cat "$work/$1.system.log"; exit 1
}
stop_system() { kill "$system"; wait "$system" || true; system=; }
key() { node -p "require('$data/credentials.json').api_keys.live"; }
load() { node deploy/drills/load.mjs --url "http://127.0.0.1:$port" --key "$(key)" --rate 10 --seconds "$@"; }
admin() { DATA_DIR="$data" npm run --silent admin -- --json "$@"; }
records() { pg psql -p "$1" -d agent_service -Atc 'select count(*) from credits.usage_records'; }
judge() { # judge WHAT PORT EXPECTED: the restored system serves, is whole, and has the records of the time of the backup
  local found verify audit
  found=$(records "$2")
  # The demonstration's own credentials are still valid: nothing has to be made again.
  load 5 --retry >"$work/load.json" || { failed=1; say "FAILED: $1 does not serve: $(cat "$work/load.json")"; }
  verify=$(admin credits verify) || failed=1
  audit=$(admin audit verify) || failed=1
  [ "$found" = "$3" ] || { failed=1; say "FAILED: $1 has $found records and not $3"; }
  say "$1: $found records as backed up, then $(cat "$work/load.json"); credits verify: $verify; audit verify: $audit"
}

mkdir "$work/archive" && { [ "$(id -u)" != 0 ] || chown postgres "$work/archive"; }
pg initdb -D "$work/primary" --auth=trust --encoding=UTF8 --locale=C.UTF-8 -U postgres >/dev/null
printf "%s\n" "archive_mode = on" "archive_command = 'cp %p $work/archive/%f'" 'wal_level = replica' >>"$work/primary/postgresql.conf"
primary=$(free_port); start_server primary "$primary"
pg createdb -p "$primary" agent_service
start_system data "$primary"
say "PostgreSQL $("$PG_BIN/postgres" --version | grep -o '[0-9.]*' | head -1), system ready"
load 10 --retry >/dev/null

began=$(now); pg pg_basebackup -p "$primary" -D "$work/time" -c fast -X none; say "base backup: $((($(now) - began))) ms"
load 5 --retry >/dev/null
began=$(now)
pg pg_dumpall -p "$primary" --roles-only >"$work/roles.sql"
pg pg_dump -p "$primary" -Fc agent_service >"$work/agent_service.dump"
# The business data of the demonstration; a customer's own data has backups of its own.
for name in $(pg psql -p "$primary" -Atc "select datname from pg_database where datname like 'agent_service\_%'"); do pg pg_dump -p "$primary" -Fc -C "$name" >"$work/$name.extra"; done
say "dump: $((($(now) - began))) ms, $(stat -c %s "$work/agent_service.dump") bytes"
at_dump=$(records "$primary")
load 5 --retry >/dev/null
at_time=$(records "$primary") time=$(pg psql -p "$primary" -Atc 'select clock_timestamp()')
sleep 1
load 3 --retry >/dev/null
pg psql -q -p "$primary" -c "select pg_switch_wal()" >/dev/null; sleep 2
stop_system
cp "$work/data/secrets.json" "$work/data/credentials.json" "$work/"
stop_server primary immediate; rm -rf "$work/primary"
say 'the database is gone; secrets.json and credentials.json are kept with the backups'

began=$(now)
pg initdb -D "$work/dump" --auth=trust --encoding=UTF8 --locale=C.UTF-8 -U postgres >/dev/null
port_of_dump=$(free_port); start_server dump "$port_of_dump"
grep -vE '^(CREATE|ALTER) ROLE postgres[ ;]' "$work/roles.sql" | pg psql -q -p "$port_of_dump" -v ON_ERROR_STOP=1 >/dev/null
pg createdb -p "$port_of_dump" agent_service
pg pg_restore -p "$port_of_dump" -d agent_service --exit-on-error <"$work/agent_service.dump"
for extra in "$work"/*.extra; do [ ! -f "$extra" ] || pg pg_restore -p "$port_of_dump" -d postgres -C --exit-on-error <"$extra"; done
pg vacuumdb -p "$port_of_dump" -d agent_service --analyze-only -q
say "dump restored and analyzed: $((($(now) - began))) ms"
mkdir "$work/from-dump"; cp "$work/secrets.json" "$work/credentials.json" "$work/from-dump/"
start_system from-dump "$port_of_dump"; judge 'from the dump' "$port_of_dump" "$at_dump"; stop_system; stop_server dump

began=$(now)
"${user[@]}" touch "$work/time/recovery.signal"
"${user[@]}" sh -c "printf '%s\n' \"restore_command = 'cp $work/archive/%f %p'\" \"recovery_target_time = '$time'\" \"recovery_target_action = promote\" 'archive_mode = off' >>'$work/time/postgresql.auto.conf'"
port_of_time=$(free_port); start_server time "$port_of_time"
for _ in $(seq 100); do [ "$(pg psql -p "$port_of_time" -Atc 'select pg_is_in_recovery()')" = f ] && break; sleep 0.2; done
say "restored to $time: $((($(now) - began))) ms"
mkdir "$work/from-time"; cp "$work/secrets.json" "$work/credentials.json" "$work/from-time/"
start_system from-time "$port_of_time"; judge 'from the point in time' "$port_of_time" "$at_time"; stop_system

[ $failed = 0 ] || { say FAILED; exit 1; }
say 'passed: both backups give a system that serves, with whole ledgers and audit chains'
