#!/usr/bin/env bash
# Runs the whole system with Docker Compose and kills one container of each kind in turn, under load: every message is still answered once and charged
# once. Prints figures, and ends with 0 only if all of it holds.
#
#   deploy/drills/compose.sh [--keep]        --keep leaves the system running
#
# RATE (10) messages a second. COMPOSE names the command (docker compose, else docker-compose), BUILD_NETWORK=host gives the build this machine's network.
set -euo pipefail
cd "$(dirname "$0")/../.."
export COMPOSE_PROJECT_NAME=${COMPOSE_PROJECT_NAME:-agent-service-drill}
export PORT=${PORT:-18080} POSTGRES_PORT=${POSTGRES_PORT:-15432} REDIS_PORT=${REDIS_PORT:-16379}
export RATE_LIMIT_MESSAGES_PER_MINUTE=1000000 RATE_LIMIT_WRITES_PER_MINUTE=1000000 RATE_LIMIT_READS_PER_MINUTE=1000000
RATE=${RATE:-10} KINDS=(gateway identity credits agents templates answer-worker redis postgres)
if [ -z "${COMPOSE:-}" ]; then if docker compose version >/dev/null 2>&1; then COMPOSE='docker compose'; else COMPOSE=docker-compose; fi; fi
compose() { $COMPOSE "$@"; }
now() { date +%s%3N; }
say() { printf '%s\n' "$*"; }
work=$(mktemp -d)
load=
finish() {
  [ -z "$load" ] || kill "$load" 2>/dev/null || true
  [ "${KEEP:-}" = true ] || compose --profile webhooks --profile admin down -v --remove-orphans >/dev/null 2>&1 || compose down -v >/dev/null 2>&1 || true
  rm -rf "$work"
}
[ "${1:-}" = --keep ] && KEEP=true
trap finish EXIT

began=$(now)
compose up -d --build >"$work/up.log" 2>&1 || { cat "$work/up.log"; exit 1; }
say "build and start: $((($(now) - began) / 1000)) s, image $(docker image inspect -f '{{.Size}}' "${AGENT_SERVICE_IMAGE:-agent-service:local}") bytes"
ready=$(compose logs --no-color ready 2>/dev/null)
key=$(grep -o 'sa_live_[A-Za-z0-9]*' <<<"$ready" | head -1)
say "ready: $(grep -o 'http://[^ ]*' <<<"$ready" | head -1)"

seconds=$((${#KINDS[@]} * 12 + 5))
node deploy/drills/load.mjs --url "http://127.0.0.1:$PORT" --key "$key" --rate "$RATE" --seconds "$seconds" --retry >"$work/load.json" &
load=$!
sleep 3
for kind in "${KINDS[@]}"; do
  container=$(compose ps -q "$kind")
  before=$(docker inspect -f '{{.State.StartedAt}}' "$container")
  # The process itself: Docker starts a container again that died, and not one that it was told to kill.
  kill -9 "$(docker inspect -f '{{.State.Pid}}' "$container")"
  died=$(now)
  until [ "$(docker inspect -f '{{.State.StartedAt}} {{.State.Health.Status}}' "$container")" != "$before healthy" ] &&
    [ "$(docker inspect -f '{{.State.Health.Status}}' "$container")" = healthy ]; do
    [ $(($(now) - died)) -lt 60000 ] || { say "$kind did not come back"; compose logs --tail 20 "$kind"; exit 1; }
    sleep 0.3
  done
  say "killed $kind: healthy again after $(($(now) - died)) ms"
  sleep 2
done
wait "$load" && lost=no || lost=yes
load=
say "load: $(cat "$work/load.json")"
compose run --rm admin credits verify 2>/dev/null | tail -3
compose run --rm admin audit verify 2>/dev/null | tail -3
began=$(now)
compose down >/dev/null 2>&1
say "down: $((($(now) - began) / 1000)) s"
[ "$lost" = no ] || { say 'FAILED: messages were lost or charged twice'; exit 1; }
say 'passed: every message was answered once and charged once'
