#!/usr/bin/env bash
# Rotates every secret of an installation on Kubernetes under load, in the steps of docs/operations/rotate-secrets.md, and counts failed requests: none may fail.
# Prints figures, and ends with 0 only if so. `deploy/drills/kubernetes.sh --keep` makes an installation for it, with bundled databases.
#
#   deploy/drills/rotate-secrets.sh
#
#   RATE (20 messages a second) NODE_ADDRESS (the node's internal address) SPACE (the namespace) GATEWAY_PORT (30080)
set -euo pipefail
cd "$(dirname "$0")/../.."
SPACE=${SPACE:-agent-service-drill} RELEASE=agent-service RATE=${RATE:-20} GATEWAY_PORT=${GATEWAY_PORT:-30080}
SERVICES=(identity credits agents webhooks)
work=$(mktemp -d) load= failed=0
trap '[ -z "$load" ] || kill "$load" 2>/dev/null; rm -rf "$work"' EXIT
k() { kubectl -n "$SPACE" "$@"; }
say() { printf '%s\n' "$*"; }
admin() { k exec deploy/$RELEASE-operator -- node /app/entrypoint.mjs admin --json "$@"; }
secret() { k get secret $RELEASE-secrets -o "jsonpath={.data.$1}" | base64 -d; }
put() { # put NAME VALUE …: into the Secret
  local patch='{}'
  while [ $# -gt 0 ]; do patch=$(node -e "const [, patch, name, value] = process.argv; const all = JSON.parse(patch); all[name] = value; console.log(JSON.stringify(all))" "$patch" "$1" "$2"); shift 2; done
  k patch secret $RELEASE-secrets --type merge -p "{\"stringData\":$patch}" >/dev/null
}
secrets_now() { k get secrets -l app.kubernetes.io/instance=$RELEASE -o 'jsonpath={range .items[*]}{.metadata.name}{.data}{"\n"}{end}' | sha256sum; }
deployments() { k get deployments -o name | grep -v redis; }
restart() { # restart STEP: every Deployment at once, under load; their pods start in turn
  local began=$SECONDS name
  k rollout restart $(deployments) >/dev/null
  for name in $(deployments); do k rollout status "$name" --timeout 240s >/dev/null; done
  # A command in a pod that ends would end with it.
  until [ -z "$(k get pods -o jsonpath='{.items[?(@.metadata.deletionTimestamp)].metadata.name}')" ]; do sleep 1; done
  kill -0 "$load" || { load=; say "FAILED: the load ended in $1"; exit 1; }
  say "$1: all processes restarted in $((SECONDS - began)) s"
}
random() { openssl rand -hex 32; }
sql() { k exec -i $RELEASE-postgres-0 -- sh -c 'PGPASSWORD=$POSTGRES_PASSWORD psql -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -U agent_service agent_service' >/dev/null; }
redis() { k exec -i deploy/$RELEASE-redis -- sh -c 'REDISCLI_AUTH=$REDIS_PASSWORD redis-cli' >/dev/null; }
role_of() { [ "$1" = identity ] && echo identity_runtime || echo "$1"; }
upper() { tr a-z A-Z <<<"$1"; }

organization=$(admin organization create --name Rotation)
key=$(grep -o 'sa_live_[A-Za-z0-9]*' <<<"$organization"); id=$(grep -o 'org_[a-z0-9]*' <<<"$organization" | head -1)
admin credits grant --organization "$id" --environment live --amount 100000 >/dev/null
address=${NODE_ADDRESS:-$(kubectl get nodes -o jsonpath='{.items[0].status.addresses[?(@.type=="InternalIP")].address}')}

declare -A old new
for name in SERVICE_SECRET CURSOR_SECRET KEY_HASH_SECRET REDIS_PASSWORD; do old[$name]=$(secret $name); new[$name]=$(random); done
for service in "${SERVICES[@]}"; do old[$service]=$(secret "$(upper "$service")_DATABASE_URL"); new[$service]=$(random); done
with_password() { sed -E "s#^(postgres://[^:]*:)[^@]*@#\1$2@#" <<<"$1"; }
encryption=$(secret ENCRYPTION_KEYS) version=2
audit="1:$(node -e "process.stdout.write(Buffer.from(require('crypto').hkdfSync('sha256', process.argv[1], '', 'agent-service audit chain 1', 32)).toString('base64'))" "${old[KEY_HASH_SECRET]}")"
next_encryption="$version:$(openssl rand -base64 32)"

# An authority of gRPC, and a certificate of each process by it.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=rotated" -keyout "$work/ca.key" -out "$work/ca.crt" 2>/dev/null
tls_secrets() { k get secret -o name | grep -- "-tls-" | grep -v authority; }
issue() { # issue SECRET: prints a patch with a certificate of the new authority, for the names of the old one
  local host=${1##*-tls-} name; name="$RELEASE-$host"
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" -keyout "$work/tls.key" -out "$work/tls.csr" 2>/dev/null
  printf 'subjectAltName=DNS:%s,DNS:%s.%s,DNS:%s.%s.svc,DNS:%s.%s.svc.cluster.local\n' "$name" "$name" "$SPACE" "$name" "$SPACE" "$name" "$SPACE" >"$work/names"
  openssl x509 -req -in "$work/tls.csr" -CA "$work/ca.crt" -CAkey "$work/ca.key" -CAcreateserial -days 30 -extfile "$work/names" -out "$work/tls.crt" 2>/dev/null
  printf '{"data":{"tls.crt":"%s","tls.key":"%s"}}' "$(base64 -w0 "$work/tls.crt")" "$(base64 -w0 "$work/tls.key")"
}
authorities() { # authorities FILE…: what every process trusts
  local bundle each; bundle=$(cat "$@" | base64 -w0)
  for each in $(tls_secrets); do k patch "$each" --type merge -p "{\"data\":{\"ca.crt\":\"$bundle\"}}" >/dev/null; done
}
has_tls=$(tls_secrets | head -1)
[ -z "$has_tls" ] || k get "$has_tls" -o 'jsonpath={.data.ca\.crt}' | base64 -d >"$work/old-ca.crt"

k set env deploy/$RELEASE-identity deploy/$RELEASE-agents ENCRYPTION_KEY_AHEAD_SECONDS=5 AUDIT_KEYS="$audit" >/dev/null
k set env deploy/$RELEASE-agents AUDIT_KEYS- >/dev/null
for each in identity agents; do k rollout status deploy/$RELEASE-$each --timeout 240s >/dev/null; done

# The node may learn late that the gateway is there.
for _ in $(seq 60); do ! curl -sf -o /dev/null "http://$address:$GATEWAY_PORT/readyz" || break; sleep 1; done
node deploy/drills/load.mjs --url "http://$address:$GATEWAY_PORT" --key "$key" --rate "$RATE" --seconds 1800 >"$work/load.json" & load=$!
sleep 3

redis <<<"ACL SETUSER default >${new[REDIS_PASSWORD]}"
step1=() step2=() step3=()
for name in SERVICE_SECRET CURSOR_SECRET KEY_HASH_SECRET; do
  step1+=("$name" "${old[$name]},${new[$name]}"); step2+=("$name" "${new[$name]},${old[$name]}"); step3+=("$name" "${new[$name]}")
done
for service in "${SERVICES[@]}"; do
  name=$(upper "$service")_DATABASE_URL
  step1+=("$name" "${old[$service]} $(with_password "${old[$service]}" "${new[$service]}")"); step3+=("$name" "$(with_password "${old[$service]}" "${new[$service]}")" "DATABASE_PASSWORD_$(upper "$(role_of "$service")")" "${new[$service]}")
done
admin_password=$(random)
step3+=(REDIS_PASSWORD "${new[REDIS_PASSWORD]}" POSTGRES_PASSWORD "$admin_password" DATABASE_ADMIN_URL "$(with_password "$(secret DATABASE_ADMIN_URL)" "$admin_password")")
step1+=(ENCRYPTION_KEYS "$encryption,$next_encryption"); step3+=(ENCRYPTION_KEYS "$next_encryption")
step2+=(REDIS_URL "redis://:${new[REDIS_PASSWORD]}@$RELEASE-redis:6379")
[ -z "$has_tls" ] || authorities "$work/old-ca.crt" "$work/ca.crt"
put "${step1[@]}"; restart 'step 1, new secrets are accepted'

for service in "${SERVICES[@]}"; do printf "alter role agent_service_%s password '%s';\n" "$(role_of "$service")" "${new[$service]}"; done | sql
sql <<<"alter role agent_service password '$admin_password'"
[ -z "$has_tls" ] || for each in $(tls_secrets); do k patch "$each" --type merge -p "$(issue "$each")" >/dev/null; done
# The chart signs the certificates of later upgrades with it too.
[ -z "$has_tls" ] || k patch secret $RELEASE-tls-authority --type merge -p "{\"data\":{\"tls.crt\":\"$(base64 -w0 "$work/ca.crt")\",\"tls.key\":\"$(base64 -w0 "$work/ca.key")\"}}" >/dev/null
put "${step2[@]}"; restart 'step 2, new secrets are used'
admin signing-key rotate >/dev/null
sleep 10

[ -z "$has_tls" ] || authorities "$work/ca.crt"
put "${step3[@]}"; restart 'step 3, old secrets are dropped'
redis <<<"ACL SETUSER default <${old[REDIS_PASSWORD]}" || true

# An upgrade keeps what was rotated: processes that start afterwards have to work with those that run.
before=$(secrets_now)
helm upgrade $RELEASE deploy/helm/agent-service -n "$SPACE" --reuse-values >/dev/null
[ "$before" = "$(secrets_now)" ] || { say 'FAILED: an upgrade changed secrets'; failed=1; }

sleep 3; kill "$load"; wait "$load" && outcome=passed || { outcome=FAILED; failed=1; }
load=
say "all secrets rotated: $outcome $(cat "$work/load.json")"
say "credits verify: $(admin credits verify) audit verify: $(admin audit verify)"
[ $failed = 0 ] || { say FAILED; exit 1; }
say 'passed: no request failed'
