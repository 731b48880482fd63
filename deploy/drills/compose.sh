#!/usr/bin/env bash
# Runs the whole system with Docker Compose, webhooks included, and kills one container of each kind in turn, under load: every message is still answered
# once and charged once, and its event reaches webhooks. Prints figures, and ends with 0 only if all of it holds.
#
#   deploy/drills/compose.sh [--keep]        --keep leaves the system running
#   OBSERVABILITY='prometheus collector grafana' deploy/drills/compose.sh     starts these, too; Prometheus has to see every process and to know the alerts
#
# RATE (10) messages a second. COMPOSE names the command (docker compose, else docker-compose), BUILD_NETWORK=host gives the build this machine's network.
set -euo pipefail
cd "$(dirname "$0")/../.."
export COMPOSE_PROJECT_NAME=${COMPOSE_PROJECT_NAME:-agent-service-drill}
export PORT=${PORT:-18080} PORTAL_PORT=${PORTAL_PORT:-18081} POSTGRES_PORT=${POSTGRES_PORT:-15432} REDIS_PORT=${REDIS_PORT:-16379}
export RATE_LIMIT_MESSAGES_PER_MINUTE=1000000 RATE_LIMIT_WRITES_PER_MINUTE=1000000 RATE_LIMIT_READS_PER_MINUTE=1000000
export COMPOSE_PROFILES=webhooks WEBHOOKS_ENABLED=true PROMETHEUS_PORT=${PROMETHEUS_PORT:-19091} GRAFANA_PORT=${GRAFANA_PORT:-13000}
RATE=${RATE:-10} KINDS=(gateway identity credits agents templates answer-worker webhooks webhook-dispatcher portal redis postgres)
if [ -z "${COMPOSE:-}" ]; then if docker compose version >/dev/null 2>&1; then COMPOSE='docker compose'; else COMPOSE=docker-compose; fi; fi
compose() { $COMPOSE "$@"; }
now() { date +%s%3N; }
say() { printf '%s\n' "$*"; }
work=$(mktemp -d)
load=
finish() {
  [ -z "$load" ] || kill "$load" 2>/dev/null || true
  [ "${KEEP:-}" = true ] || COMPOSE_PROFILES=webhooks,admin,observability compose down -v --remove-orphans >/dev/null 2>&1 || true
  rm -rf "$work"
}
[ "${1:-}" = --keep ] && KEEP=true
trap finish EXIT

began=$(now)
compose build >"$work/up.log" 2>&1 || { cat "$work/up.log"; exit 1; }
say "build: $((($(now) - began) / 1000)) s, image $(docker image inspect -f '{{.Size}}' "${AGENT_SERVICE_IMAGE:-agent-service:local}") bytes"
began=$(now)
# Compose names a container that failed, and does not say why.
compose up -d >"$work/up.log" 2>&1 || { cat "$work/up.log"; compose ps -a; compose logs --no-color --tail 5; exit 1; }
until [ "$(docker inspect -f '{{.State.Status}} {{.State.ExitCode}}' "$(compose ps -aq ready 2>/dev/null || compose ps -q ready)")" = 'exited 0' ]; do
  [ $(($(now) - began)) -lt 600000 ] || { say 'the system did not become ready'; compose logs --tail 20 ready; exit 1; }
  sleep 0.2
done
say "start on empty volumes: ready after $((($(now) - began) / 1000)) s"
compose logs --no-color ready 2>/dev/null | grep '|' | sed 's/^[^|]*| \{0,1\}//' | tee "$work/ready"
key=$(grep -o 'sa_live_[A-Za-z0-9]*' "$work/ready" | head -1)
# shellcheck disable=SC2086
[ -z "${OBSERVABILITY:-}" ] || COMPOSE_PROFILES=webhooks,observability compose up -d --no-recreate $OBSERVABILITY >"$work/up.log" 2>&1 || { cat "$work/up.log"; exit 1; }

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
admin() { compose run --rm admin --json "$@" 2>/dev/null; }
say "credits verify: $(admin credits verify) audit verify: $(admin audit verify) messages between services that were refused: $(admin outbox list)"
[ "$lost" = no ] || { say 'FAILED: messages were lost or charged twice'; exit 1; }
see_processes() { # prints how many processes Prometheus sees, and how many alerts it knows
  local prometheus="http://127.0.0.1:$PROMETHEUS_PORT/api/v1"
  seen=$(curl -sf "$prometheus/query?query=count(up%7Bjob=%22agent-service%22%7D==1)" | grep -oE '"[0-9]+"\]' | tr -dc 0-9)
  alerts=$(curl -sf "$prometheus/rules?type=alert" | grep -o '"type":"alerting"' | wc -l)
}
if [[ "${OBSERVABILITY:-}" = *prometheus* ]]; then
  expected=$((${#KINDS[@]} - 2))
  for _ in $(seq 60); do see_processes; [ "$seen" != "$expected" ] || break; sleep 1; done
  say "Prometheus sees $seen processes and knows $alerts alerts"
  [ "$seen" = "$expected" ] && [ "$alerts" -gt 0 ] || { say "FAILED: Prometheus has to see $expected processes"; exit 1; }
fi
if [ "${KEEP:-}" != true ]; then
  began=$(now)
  COMPOSE_PROFILES=webhooks,observability compose down >/dev/null 2>&1
  say "down: $((($(now) - began) / 1000)) s"
fi
say 'passed: every message was answered once and charged once'
