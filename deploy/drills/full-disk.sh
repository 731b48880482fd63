#!/usr/bin/env bash
# Proves that a full disk loses nothing: a system whose database, Redis and logs are on one small disk gets messages while that disk is full, first so that
# tables cannot grow and then so that PostgreSQL ends for want of write-ahead log. When there is room again each message is answered and charged once, without
# a restart, and both verify commands find no fault. Prints figures, and ends with 0 only if so.
#
#   deploy/drills/full-disk.sh
#
# Needs root, who may mount the small disk (in memory), and what npm start needs.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo 'Only root may mount the small disk'; exit 2; }
work=$(mktemp -d) failed=0 system=
disk=$work/disk data=$work/disk/data
chmod 711 "$work"
say() { printf '%s\n' "$*"; }
now() { date +%s%3N; }
free_port() { node -e "const s = require('net').createServer().listen(0, () => { console.log(s.address().port); s.close(); })"; }
finish() {
  [ -z "$system" ] || { kill "$system" 2>/dev/null && wait "$system" 2>/dev/null; } || true
  umount "$disk" || true
  rm -rf "$work"
}
mkdir "$disk" && mount -t tmpfs -o size=220m tmpfs "$disk"
trap finish EXIT
port=$(free_port) portal=$(free_port)
limits=(RATE_LIMIT_READS_PER_MINUTE=1000000 RATE_LIMIT_WRITES_PER_MINUTE=1000000 RATE_LIMIT_MESSAGES_PER_MINUTE=1000000)
env "${limits[@]}" PORT="$port" PORTAL_PORT="$portal" DATA_DIR="$data" npm start --silent >"$work/system.log" 2>&1 &
system=$!
is_ready() { curl -sf -o /dev/null --max-time 5 "http://127.0.0.1:$port/readyz"; }
wait_ready() { for _ in $(seq "$1"); do ! is_ready || return 0; kill -0 $system 2>/dev/null || break; sleep 0.2; done; cat "$work/system.log"; exit 1; }
wait_ready 1500
admin() { DATA_DIR="$data" npm run --silent admin -- --json "$@"; }
# The last write takes what is left of a page, so that no file can grow after it.
fill() { cat /dev/zero >"$disk/ballast.$RANDOM" 2>/dev/null || true; }
# Eight megabytes of write-ahead log for each call, until the server has no room for the next segment and ends.
write_log() {
  node --input-type=commonjs -e "
    const { Client } = require('pg');
    const client = new Client({ connectionString: require('$data/endpoints.json').postgres });
    client.on('error', () => undefined);
    client.connect()
      .then(() => client.query('select pg_logical_emit_message(true, \$1, repeat(\$2, 8000000))', ['drill', 'x']))
      .then(() => process.exit(0), (cause) => { console.log(cause.code, cause.message); process.exit(1); });"
}

drill() { # drill WHAT: messages before, while and after the disk is full
  local began load
  node deploy/drills/load.mjs --url "http://127.0.0.1:$port" --key "$(node -p "require('$data/credentials.json').api_keys.live")" --rate 10 --seconds 45 --retry >"$work/load.json" 2>&1 &
  load=$!
  sleep 5
  fill
  [ "$1" = tables ] || for _ in $(seq 10); do write_log || break; done
  # A file that a process removes makes room for a moment.
  for _ in $(seq 30); do sleep 1; fill; done
  ! is_ready || [ "$1" = tables ] || { failed=1; say "FAILED: ready without a database"; }
  rm -f "$disk"/ballast.*
  began=$(now)
  wait_ready 300
  say "$1: ready $((($(now) - began))) ms after there was room"
  wait $load || { failed=1; say "FAILED: $1"; }
  say "$1: $(cat "$work/load.json")"
  # A caller sees that the service is away, or that its answer takes long, and never another error.
  ! grep -oE '"(500|4[0-9][0-9]) [a-z_]+"' "$work/load.json" || { failed=1; say "FAILED: $1 showed another error"; }
}

drill tables
drill log
verify=$(admin credits verify) || failed=1
audit=$(admin audit verify) || failed=1
say "credits verify: $verify; audit verify: $audit"
exit $failed
