#!/usr/bin/env bash
# Installs the chart with its bundled databases, and proves under load that an upgrade, restarts and deleted pods fail no request and lose nothing:
# every message is answered once and charged once. Prints figures, and ends with 0 only if all of it holds.
#
#   deploy/drills/kubernetes.sh [--keep]      --keep leaves the release installed
#
# Needs kubectl and helm for a cluster whose node is this machine or whose NodePorts it reaches, and two tags of the image in it.
#   IMAGE (agent-service) TAG (0.1.0) NEXT_TAG (0.1.1) RATE (20 messages a second) NODE_ADDRESS (the node's internal address) VALUES (further values, as
#   "-f file --set a=b") HOST_PATH (a folder of the node for PostgreSQL's data, where the cluster has no storage class) POSTGRES_USER_ID
set -euo pipefail
cd "$(dirname "$0")/../.."
IMAGE=${IMAGE:-agent-service} TAG=${TAG:-0.1.0} NEXT_TAG=${NEXT_TAG:-0.1.1} RATE=${RATE:-20} SPACE=${SPACE:-agent-service-drill} RELEASE=agent-service
KINDS=(identity credits agents templates webhooks answer-worker webhook-dispatcher gateway portal)
work=$(mktemp -d) load= failed=0 keep=${1:-}
k() { kubectl -n "$SPACE" "$@"; }
now() { date +%s%3N; }
say() { printf '%s\n' "$*"; }
admin() { k exec deploy/$RELEASE-operator -- node /app/entrypoint.mjs admin --json "$@"; }
finish() {
  [ -z "$load" ] || kill "$load" 2>/dev/null || true
  [ "$keep" = --keep ] || { helm uninstall -n "$SPACE" $RELEASE >/dev/null 2>&1; kubectl delete namespace "$SPACE" --wait=false >/dev/null 2>&1; kubectl delete pv "$SPACE-postgres" >/dev/null 2>&1; } || true
  rm -rf "$work"
}
trap finish EXIT

values=(-f deploy/helm/agent-service/examples/small.yaml --set "image.repository=$IMAGE,defaults.replicas=2,service.type=NodePort,service.nodePort=30080,webhooks.enabled=true")
for kind in READS WRITES MESSAGES; do values+=(--set-string "settings.gateway.RATE_LIMIT_${kind}_PER_MINUTE=1000000"); done
# shellcheck disable=SC2206
[ -z "${VALUES:-}" ] || values+=($VALUES)
install() { helm "$1" $RELEASE deploy/helm/agent-service -n "$SPACE" "${values[@]}" "${@:2}" --wait --wait-for-jobs --timeout 5m >"$work/helm.log" 2>&1 || { cat "$work/helm.log"; k get pods; exit 1; }; }

kubectl create namespace "$SPACE" >/dev/null
kubectl label namespace "$SPACE" pod-security.kubernetes.io/enforce=restricted >/dev/null
if [ -n "${HOST_PATH:-}" ]; then
  rm -rf "${HOST_PATH:?}/pgdata" && mkdir -p "$HOST_PATH" && chown "${POSTGRES_USER_ID:-70}" "$HOST_PATH"
  kubectl apply -f - >/dev/null <<YAML
{ apiVersion: v1, kind: PersistentVolume, metadata: { name: $SPACE-postgres }, spec: { capacity: { storage: 10Gi }, accessModes: [ReadWriteOnce],
  persistentVolumeReclaimPolicy: Retain, claimRef: { namespace: $SPACE, name: data-$RELEASE-postgres-0 }, hostPath: { path: $HOST_PATH } } }
YAML
fi
began=$(now)
install install --set "image.tag=$TAG"
say "install: ready after $((($(now) - began) / 1000)) s, $(k get pods --no-headers | grep -c Running) pods, $(k get pods -o jsonpath='{.items[*].status.containerStatuses[*].restartCount}' | tr ' ' '\n' | grep -cv '^0$' || true) restarts"
helm test -n "$SPACE" $RELEASE >"$work/test.log" 2>&1 && say "helm test: $(grep Phase "$work/test.log")" || { cat "$work/test.log"; k logs $RELEASE-test; say 'FAILED: helm test'; exit 1; }

organization=$(admin organization create --name Drill)
key=$(grep -o 'sa_live_[A-Za-z0-9]*' <<<"$organization")
id=$(grep -o 'org_[a-z0-9]*' <<<"$organization" | head -1)
admin credits grant --organization "$id" --environment live --amount 100000 >/dev/null
address=${NODE_ADDRESS:-$(kubectl get nodes -o jsonpath='{.items[0].status.addresses[?(@.type=="InternalIP")].address}')}

# The node may learn late that the gateway is there.
for _ in $(seq 60); do ! curl -sf -o /dev/null "http://$address:30080/readyz" || break; sleep 1; done
start_load() { node deploy/drills/load.mjs --url "http://$address:30080" --key "$key" --rate "$RATE" --seconds 900 "$@" >"$work/load.json" & load=$!; sleep 3; }
stop_load() { # stop_load WHAT: ends the load and judges it
  sleep 3
  kill "$load" || { load=; say "FAILED: the load ended before $1: $(cat "$work/load.json")"; exit 1; }
  wait "$load" && outcome=passed || { outcome=FAILED; failed=1; }
  load=
  say "$1: $outcome $(cat "$work/load.json")"
}
timed() { local began; began=$(now); "$@" >/dev/null; seconds=$((($(now) - began) / 1000)); }

start_load
timed install upgrade --set "image.tag=$NEXT_TAG"
stop_load "upgrade to $NEXT_TAG in $seconds s"

start_load
for kind in "${KINDS[@]}"; do
  k rollout restart deploy/$RELEASE-"$kind" >/dev/null
  timed k rollout status deploy/$RELEASE-"$kind" --timeout 180s
done
stop_load "restart of every Deployment in turn"

start_load
for kind in "${KINDS[@]}"; do
  k delete pod --wait=false "$(k get pods -l app.kubernetes.io/component="$kind" --field-selector status.phase=Running -o jsonpath='{.items[0].metadata.name}')" >/dev/null
  k rollout status deploy/$RELEASE-"$kind" --timeout 180s >/dev/null
  sleep 2
done
stop_load 'deletion of one pod of each kind'

start_load
timed helm rollback -n "$SPACE" $RELEASE 1 --wait --timeout 5m
stop_load "rollback in $seconds s"

start_load --retry
began=$(now)
k delete pods --all --force --grace-period=0 >/dev/null 2>&1
k wait --for=condition=Available deployment --all --timeout 300s >/dev/null
say "all pods killed: available again after $((($(now) - began) / 1000)) s"
stop_load 'all pods killed, with a caller that repeats'

say "credits verify: $(admin credits verify) audit verify: $(admin audit verify)"
before=$(k get secret $RELEASE-secrets -o jsonpath='{.data.ENCRYPTION_KEYS}' | sha256sum)
helm uninstall -n "$SPACE" $RELEASE --wait >/dev/null 2>&1
for _ in $(seq 60); do [ -z "$(k get pods -o name)" ] && break; sleep 1; done
left=$(k get all,secret,configmap,pvc,networkpolicy,serviceaccount,pdb,job -o name | grep -vE '^(configmap/kube-root-ca.crt|serviceaccount/default)$' | tr '\n' ' ')
say "left after uninstall: $left"
[ "$left" = "secret/$RELEASE-secrets persistentvolumeclaim/data-$RELEASE-postgres-0 " ] || { say 'FAILED: uninstall left more than the values say to keep'; failed=1; }
install install --set "image.tag=$TAG"
[ "$before" = "$(k get secret $RELEASE-secrets -o jsonpath='{.data.ENCRYPTION_KEYS}' | sha256sum)" ] || { say 'FAILED: secrets changed'; failed=1; }
say "installed again over the data that was kept: credits verify: $(admin credits verify)"
[ $failed = 0 ] || { say FAILED; exit 1; }
say 'passed'
