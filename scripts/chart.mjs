// Checks the Helm chart: helm lint and helm template with each example, every manifest against the schemas of its kind, and what the schemas do not say:
// restricted pod security, resources, no tokens, the order of Argo CD. Prints findings; exits with 2 where helm is not installed.
//   node scripts/chart.mjs

import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import Ajv from 'ajv';
import { parseAllDocuments } from 'yaml';

const chart = 'deploy/helm/agent-service';
const version = ['--kube-version', '1.35.0'];
/** Custom resources of projects whose schemas are not here. */
const withoutSchema = new Set(['cert-manager.io/v1/Certificate']);
const schemas = JSON.parse(readFileSync('deploy/helm/schemas.json', 'utf8'));
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema({ $id: 'kubernetes', definitions: strictly(schemas.definitions) });

const externalDatabase = 'database.bundled.enabled=false,database.external.host=db.example.com';
const externalRedis = 'redis.bundled.enabled=false,secrets.existing.REDIS_URL.secret=mine';
const urls = ['IDENTITY', 'CREDITS', 'AGENTS', 'WEBHOOKS'].map((service) => `${service}_DATABASE_URL`);
const ownSecrets = ['SERVICE_SECRET', 'KEY_HASH_SECRET', 'CURSOR_SECRET', 'ENCRYPTION_KEYS', 'REDIS_URL', ...urls]
  .map((key) => `secrets.existing.${key}.secret=mine`)
  .join(',');
/** Values with which an installation would never work, and a part of the message that refuses them; some for a release of another name. */
const refused = [
  ['redis.bundled.enabled=false', 'secrets.existing.REDIS_URL'],
  [externalDatabase, 'secrets.existing.DATABASE_ADMIN_URL'],
  [`${externalDatabase},secrets.existing.AGENTS_DATABASE_URL.secret=mine`, 'secrets.existing.CREDITS_DATABASE_URL'],
  [`secrets.generate=false,${ownSecrets}`, 'database.bundled.enabled=false'],
  [`secrets.generate=false,${externalDatabase},${ownSecrets}`, 'redis.bundled.enabled=false'],
  ['secrets.existing.REDIS_URL.secret=mine', 'redis.bundled.enabled=false'],
  ['secrets.existing.DATABASE_ADMIN_URL.secret=mine', 'database.bundled.enabled=false'],
  ['secrets.existing.AGENTS_DATABASE_URL.secret=mine', 'database.bundled.enabled=false'],
  [
    `${externalDatabase},secrets.existing.DATABASE_ADMIN_URL.secret=mine,secrets.existing.CREDITS_DATABASE_URL.secret=mine`,
    'secrets.existing.AGENTS_DATABASE_URL',
  ],
  [`${externalRedis},networkPolicies.outboundTo=null`, 'networkPolicies.redisTo'],
  ['monitoring.tracesUrl=http://collector:4318,networkPolicies.tracesTo=null', 'networkPolicies.tracesTo'],
  ['defaults.resources.requests.cpu=null', "missing property 'cpu'"],
  ['ingress.enabled=true', 'ingress.hosts'],
  ['gatewayApi.enabled=true', 'gatewayApi.parentRefs'],
  ['image.tag=a', 'fullnameOverride', '2026-agents'],
  ['image.tag=a', 'fullnameOverride', 'agents.test'],
  ['fullnameOverride=Agents', 'fullnameOverride'],
  ['defaults.podAnnotations.scrape=true', '/defaults/podAnnotations/scrape'],
  ['commonLabels.team=1', '/commonLabels/team'],
  ['service.annotations.internal=true', '/service/annotations/internal'],
  ['defaults.autoscaling.enabled=true,processes.gateway.autoscaling.minReplicas=12', 'processes.gateway.autoscaling'],
  [
    'settings.gateway.DRAIN_DELAY_MS=60000,shutdown.gatewayPreStopSeconds=60',
    'shutdown.terminationGracePeriodSeconds: must be at least 130',
  ],
  ['portalService.type=NodePort,portalService.loadBalancerSourceRanges={192.0.2.0/24}', 'portalService.loadBalancerSourceRanges'],
  ['settings.all.ANSWER_WAIT_DRAIN_SECONDS=70', 'shutdown.terminationGracePeriodSeconds: must be at least 100'],
  ['shutdown.gatewayPreStopSeconds=100', 'shutdown.terminationGracePeriodSeconds: must be at least 115'],
];

/** Values in the Secret of an installation, and the key that an upgrade names where it would bring a former password back. */
const rotated = [
  [{ DATABASE_PASSWORD_CREDITS: 'new', CREDITS_DATABASE_URL: 'postgres://credits:new@db/agent_service' }],
  [{ DATABASE_PASSWORD_CREDITS: 'old', CREDITS_DATABASE_URL: 'postgres://credits:new@db/agent_service' }, 'CREDITS_DATABASE_URL'],
  [
    {
      DATABASE_PASSWORD_AGENTS: 'old',
      AGENTS_DATABASE_URL: 'postgres://agents:old@db/agent_service postgres://agents:new@db/agent_service',
    },
    'AGENTS_DATABASE_URL',
  ],
  [
    { DATABASE_PASSWORD_IDENTITY: 'new', DATABASE_PASSWORD_IDENTITY_RUNTIME: 'old', IDENTITY_DATABASE_URL: 'postgres://identity:new@db/a' },
    'IDENTITY_DATABASE_URL',
  ],
  [{ POSTGRES_PASSWORD: 'old', DATABASE_ADMIN_URL: 'postgres://agent_service:new@db/agent_service' }, 'DATABASE_ADMIN_URL'],
  [{ REDIS_PASSWORD: 'old', REDIS_URL: 'redis://:new@redis:6379' }, 'REDIS_URL'],
];

/** Further values that work. */
const accepted = [
  { ingress: { enabled: true, hosts: ['*.example.com'], portalHosts: ['*.portal.example.com'] } },
  { settings: { all: { DRAIN_DELAY_MS: 1_000 }, gateway: { RATE_LIMIT_READS_PER_MINUTE: 1_000_000, ANSWER_WAIT_DRAIN_SECONDS: '30' } } },
  { processes: { identity: { resources: { limits: { memory: '1Gi' } }, autoscaling: { enabled: true, cpu: 150 } } } },
  {
    networkPolicies: { outboundTo: [] },
    webhooks: { enabled: true },
    settings: { all: { OPENID_CONNECT_ISSUER: 'https://sign-in.example.com' } },
  },
  { webhooks: { enabled: true }, defaults: { autoscaling: { enabled: true } } },
  { service: { type: 'LoadBalancer', loadBalancerSourceRanges: ['192.0.2.0/24'] }, portalService: { type: 'NodePort' } },
  { service: { type: 'NodePort', externalTrafficPolicy: 'Cluster' } },
  { service: { externalTrafficPolicy: 'Cluster', loadBalancerSourceRanges: ['192.0.2.0/24'] } },
  { defaults: { resources: { requests: { cpu: '500m', memory: '2Gi' }, limits: { memory: '2Gi' } } } },
  { defaults: { tolerations: [{ key: 'agents', operator: 'Exists' }], nodeSelector: { pool: 'agents' }, priorityClassName: 'agents' } },
  {
    webhooks: { enabled: true },
    monitoring: { tracesUrl: 'https://traces.example.com' },
    database: { pooler: 'pgbouncer:6432' },
    secrets: {
      existing: { OPENID_CONNECT_CLIENT_SECRET: { secret: 'sign-in' }, SMTP_URL: { secret: 'mail' }, AUDIT_KEYS: { secret: 'audit' } },
    },
  },
];

/** Other addresses than those of the release. */
const addressesOutside = {
  OTEL_EXPORTER_OTLP_ENDPOINT: (url) => new URL(url),
  DATABASE_POOLER: (address) => new URL(`tcp://${address}`),
};

/** Ports that may be reached everywhere: those of name servers, and of the database and its pooler where `databaseTo` is empty. */
const portsEverywhere = new Set([53, 5353, 5432, 6432]);

/** Units of quantities of Kubernetes. */
const units = { m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 };

const helm = process.env.HELM ?? 'helm';
if (spawnSync(helm, ['version']).status !== 0) {
  console.log('helm is not installed: go install helm.sh/helm/v3/cmd/helm@v3.22.0');
  process.exit(2);
}
const examples = readdirSync(join(chart, 'examples')).map((name) => ['-f', join(chart, 'examples', name)]);
// A release that exists runs its migrations as a hook.
const findings = [[], ...examples].flatMap((values) => [...lint(values), ...render(values, []), ...render(values, ['--is-upgrade'])]);
// A name that YAML reads as a number.
findings.push(...render([], ['--set', 'fullnameOverride=agents'], undefined, '123'));
for (const values of accepted) findings.push(...render(['--values', '-'], [], JSON.stringify(values)));
findings.push(...refused.flatMap((parameters) => refusal(...parameters)));
findings.push(...rotated.flatMap((parameters) => upgradeOver(...parameters)));
for (const finding of findings) console.log(finding);
console.log(
  `${examples.length + accepted.length + 1} sets of values and ${refused.length} that are refused, ${rotated.length} upgrades over a Secret, ${findings.length} findings`,
);
process.exitCode = findings.length > 0 ? 1 : 0;

function lint(values) {
  const { status, stdout } = spawnSync(helm, ['lint', chart, '--strict', ...version, ...values], { encoding: 'utf8' });
  return status === 0 ? [] : [stdout];
}

function template(options, input, release = 'agents') {
  const words = ['template', release, chart, ...version, ...options];
  return spawnSync(helm, words, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, input });
}

function refusal(values, message, release) {
  const { status, stderr } = template(['--set', values], undefined, release);
  if (status === 0) return [`${values}: is not refused`];
  return stderr.includes(message) ? [] : [`${values}: the message does not name ${message}: ${stderr}`];
}

/** An upgrade reads the Secret in the cluster, which stands in the chart itself here. */
function upgradeOver(secret, key) {
  const copy = join(mkdtempSync(join(tmpdir(), 'chart-')), 'agent-service');
  cpSync(chart, copy, { recursive: true });
  const file = join(copy, 'templates', 'secrets.yaml');
  const text = readFileSync(file, 'utf8');
  const data = Object.entries(secret).map(([name, value]) => `"${name}" "${Buffer.from(value).toString('base64')}"`);
  const changed = text.replace('(lookup "v1" "Secret" .Release.Namespace $name)', `(dict "data" (dict ${data.join(' ')}))`);
  writeFileSync(file, changed);
  const { status, stderr } = spawnSync(helm, ['template', 'agents', copy, ...version, '--is-upgrade', '-s', 'templates/secrets.yaml'], {
    encoding: 'utf8',
  });
  rmSync(join(copy, '..'), { recursive: true });
  const where = `an upgrade over the Secret ${JSON.stringify(secret)}`;
  if (changed === text) return ['templates/secrets.yaml does not read the Secret of the installation'];
  if (key === undefined) return status === 0 ? [] : [`${where}: ${stderr}`];
  if (status === 0) return [`${where}: is not refused`];
  return stderr.includes(`another password in ${key}`) ? [] : [`${where}: the message does not name ${key}: ${stderr}`];
}

function render(values, options, input, release) {
  const where = input ?? values[1] ?? 'the defaults';
  const { status, stdout, stderr } = template([...values, ...options], input, release);
  if (status !== 0) return [`${where}: ${stderr}`];
  const manifests = parseAllDocuments(stdout).flatMap((document) => document.toJS() ?? []);
  const required = JSON.parse(input ?? '{}');
  const namesUser = !where.endsWith('openshift.yaml');
  const named = Object.values(required.secrets?.existing ?? {}).map(({ secret }) => secret);
  const unused = named
    .filter((name) => !JSON.stringify(manifests).includes(`"name":"${name}"`))
    .map((name) => `${where}: no pod reads the Secret ${name}`);
  const faults = manifests.flatMap((manifest) =>
    [
      ...findingsOf(manifest, namesUser),
      ...orderFindings(manifest, manifests),
      ...policyFindings(manifest, manifests),
      ...(manifest.kind === 'NetworkPolicy' ? wayFindings(manifest.spec) : []),
      ...migrationFindings(manifest, manifests),
      ...placementFindings(manifest, required),
      ...(manifest.kind === 'Service' ? publishedFindings(manifest, required) : []),
      ...(manifest.kind === 'Ingress' ? ingressFindings(manifest) : []),
      ...(manifest.kind === 'HorizontalPodAutoscaler' ? autoscalerFindings(manifest) : []),
      ...(manifest.kind === 'PrometheusRule' ? ruleFindings(manifest.spec) : []),
    ].map((finding) => `${where}: ${manifest.kind} ${manifest.metadata.name}: ${finding}`),
  );
  return [...unused, ...faults];
}

function findingsOf(manifest, namesUser) {
  const kind = `${manifest.apiVersion}/${manifest.kind}`;
  const definition = schemas.kinds[kind];
  if (definition === undefined) return withoutSchema.has(kind) ? [] : [`there is no schema of ${kind}`];
  const validate = ajv.getSchema(`kubernetes#/definitions/${definition}`);
  const faults = validate(manifest)
    ? []
    : validate.errors.map((error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`);
  const pod = podOf(manifest);
  return [...faults, ...(pod ? podFindings(pod, namesUser) : []), ...(manifest.kind === 'Service' ? serviceFindings(manifest.spec) : [])];
}

function podOf({ kind, spec }) {
  return kind === 'Pod' ? spec : spec?.template?.spec;
}

/** Argo CD makes what is in a wave, and waits until it is ready, before it makes what is in the next one. */
function orderFindings(manifest, manifests) {
  const wave = ({ metadata }) => Number(metadata.annotations?.['argocd.argoproj.io/sync-wave'] ?? 0);
  const isOfPod = ({ kind, metadata, spec }) =>
    kind === 'ServiceAccount' ? metadata.name === podOf(manifest).serviceAccountName : kind === 'NetworkPolicy' && selects(spec, manifest);
  // Those of hooks are there before every wave.
  const needed = podOf(manifest) ? manifests.filter((each) => !each.metadata.annotations?.['helm.sh/hook'] && isOfPod(each)) : [];
  return needed
    .filter((each) => wave(each) > wave(manifest))
    .map(({ kind, metadata }) => `Argo CD makes its ${kind} ${metadata.name} in a later wave`);
}

/** True where a network policy is for the pods of this manifest. */
function selects({ podSelector }, { metadata, spec }) {
  const { labels } = spec.template?.metadata ?? metadata;
  return Object.entries(podSelector.matchLabels).every(([name, value]) => labels[name] === value);
}

/** On nodes with taints, a pod without the tolerations of the others is never scheduled, and with it no migration is run. The chart's own values for a
 * process differ from the defaults only where they have to. */
function placementFindings(manifest, { defaults = {} }) {
  const pod = podOf(manifest);
  const names = ['tolerations', 'nodeSelector', 'priorityClassName'].filter((name) => name in defaults);
  const missing = names.filter((name) => !isDeepStrictEqual(pod?.[name], defaults[name]));
  const { cpu } = defaults.resources?.requests ?? {};
  // A container prepares every process, and nothing else.
  const isOther = cpu && pod?.initContainers && pod.containers[0].resources.requests.cpu !== cpu;
  return pod ? [...missing, ...(isOther ? ['resources'] : [])].map((name) => `lacks the ${name} of the defaults`) : [];
}

/** A pod reaches what its variables name only through its network policy. */
function policyFindings(manifest, manifests) {
  const variables = podOf(manifest)?.containers[0].env ?? [];
  const policy = manifests.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === manifest.metadata.name);
  const isOpen = ({ protocol, hostname, port }) => {
    const number = Number(port) || (protocol === 'https:' ? 443 : 80);
    return policy.spec.egress.some(({ ports = [], to }) => ports.some((each) => each.port === number) && hasNamespace(to, hostname));
  };
  return variables
    .filter(({ name, value }) => addressesOutside[name] && !isOpen(addressesOutside[name](value)))
    .map(({ name, value }) => `its network policy does not let it out to ${name}=${value}`);
}

/** A way whose `to` is missing or empty leads everywhere, also to the metadata service of a cloud. */
function wayFindings({ egress = [] }) {
  const isWide = ({ ports = [], to }) =>
    to?.length === 0 || (!to && !(ports.length > 0 && ports.every(({ port }) => portsEverywhere.has(port))));
  return egress.filter(isWide).map((way) => `lets its pods out to everywhere: ${JSON.stringify(way)}`);
}

/** False for a Service of another namespace, as pgbouncer.databases, whose namespace is not named. */
function hasNamespace(to, host) {
  const [, namespace, ...rest] = host.split('.');
  const isOutside = namespace === undefined || rest.length > 0;
  const names = (to ?? []).map(({ namespaceSelector }) => namespaceSelector?.matchLabels?.['kubernetes.io/metadata.name']);
  return to === undefined || isOutside || names.includes(namespace);
}

/**
 * The migration of an upgrade runs before the policies of its revision are there, but those of hooks with a lower weight. That of an
 * installation refuses a database that another system uses; in an upgrade, processes may have former passwords.
 */
function migrationFindings(manifest, manifests) {
  if (manifest.kind !== 'Job') return [];
  const isOfHook = ({ metadata }) => metadata.annotations?.['helm.sh/hook'] === 'pre-upgrade';
  const weight = ({ metadata }) => Number(metadata.annotations?.['helm.sh/hook-weight'] ?? 0);
  const ways = (policies) => policies.flatMap(({ spec }) => spec.egress ?? []);
  const policies = manifests.filter((each) => each.kind === 'NetworkPolicy' && selects(each.spec, manifest));
  const open = ways(policies.filter((each) => isOfHook(each) && weight(each) < weight(manifest)));
  const closed = isOfHook(manifest) ? ways(policies).filter((way) => !open.some((each) => isDeepStrictEqual(each, way))) : [];
  const names = podOf(manifest).containers[0].env.map(({ name }) => name);
  const isWrong = names.includes('DATABASE_ADMIN_URL') && names.includes('NEW_INSTALLATION') === isOfHook(manifest);
  return [
    ...closed.map((way) => `no policy of a hook before it has the way ${JSON.stringify(way)}`),
    ...(isWrong ? ['NEW_INSTALLATION is for installations only'] : []),
  ];
}

/** Helm makes the ScaledObject of a worker before it deletes its HorizontalPodAutoscaler: without the annotation KEDA would refuse it. */
function autoscalerFindings({ metadata, spec }) {
  const isOfWorker = /-(answer-worker|webhook-dispatcher)$/.test(spec.scaleTargetRef.name);
  const isLeft = metadata.annotations?.['validations.keda.sh/hpa-ownership'] === 'false';
  return isOfWorker && !isLeft ? ['KEDA cannot take its place'] : [];
}

/** Nginx ends a request with a page of its own after 60 s; an answer may take as long as ANSWER_DEADLINE_SECONDS, 300 unless set. */
function ingressFindings({ metadata, spec }) {
  const limit = Number(metadata.annotations?.['nginx.ingress.kubernetes.io/proxy-read-timeout'] ?? 60);
  return spec.ingressClassName === 'nginx' && limit <= 300 ? ['ends requests before the gateway answers them'] : [];
}

/** A Service that is not headless may be published, by a node or a load balancer: it has no port of operators. */
function serviceFindings({ clusterIP, ports }) {
  return clusterIP !== 'None' && ports.some(({ name }) => name === 'ops') ? ['would publish metrics'] : [];
}

/**
 * With the default of Kubernetes a node passes connections to pods of other nodes, and these see its address instead of the caller's.
 * Kubernetes refuses a policy of a ClusterIP, and source ranges of all but load balancers.
 */
function publishedFindings({ metadata, spec }, { service, portalService }) {
  const options = { 'agents-agent-service-gateway': service, 'agents-agent-service-portal': portalService }[metadata.name] ?? {};
  const isPublished = ['NodePort', 'LoadBalancer'].includes(options.type);
  const policy = isPublished ? (options.externalTrafficPolicy ?? 'Local') : undefined;
  const ranges = options.type === 'LoadBalancer' ? options.loadBalancerSourceRanges : undefined;
  return [
    ...(spec.externalTrafficPolicy === policy ? [] : [`its externalTrafficPolicy is not ${policy}`]),
    ...(isDeepStrictEqual(spec.loadBalancerSourceRanges, ranges) ? [] : [`its source ranges are not ${ranges}`]),
  ];
}

/** A rule that reads the metrics of every namespace is silent while another system is well. */
function ruleFindings({ groups }) {
  const rules = groups.flatMap((group) => group.rules);
  return rules.filter(({ expr }) => !expr.includes('{namespace="default"')).map(({ alert }) => `${alert} reads every namespace`);
}

/** Checks the rules of the "restricted" profile of pod security, and what this chart promises beyond them. */
function podFindings(pod, namesUser) {
  const findings = [];
  const expect = (isRight, finding) => {
    if (!isRight) findings.push(finding);
  };
  expect(pod.automountServiceAccountToken === false, 'has a token of its service account');
  const { runAsNonRoot, runAsUser, runAsGroup, fsGroup } = pod.securityContext ?? {};
  expect(runAsNonRoot === true && (!namesUser || runAsUser > 0), 'may run as root');
  expect(namesUser || [runAsUser, runAsGroup, fsGroup].every((id) => id === undefined), 'names a user or group');
  expect(pod.securityContext?.seccompProfile?.type === 'RuntimeDefault', 'has no seccomp profile');
  expect(!pod.hostNetwork && !pod.hostPID && !pod.hostIPC && !(pod.volumes ?? []).some(({ hostPath }) => hostPath), 'uses the host');
  for (const { name, image, resources, securityContext, env = [] } of [...(pod.initContainers ?? []), ...pod.containers]) {
    findings.push(...resourceFindings(name, resources ?? {}));
    expect(securityContext?.allowPrivilegeEscalation === false && securityContext.readOnlyRootFilesystem === true, `${name} is not closed`);
    expect(securityContext?.capabilities?.drop?.includes('ALL'), `${name} has capabilities`);
    expect(/[:@]/.test(image) && !image.endsWith(':latest'), `${name} has an image without a fixed version`);
    expect(new Set(env.map((each) => each.name)).size === env.length, `${name} has two variables of one name`);
    for (const { name: setting, value } of env) expect(!/^[\d.]+e[+-]\d+$/.test(value), `${setting}: no process reads the number ${value}`);
  }
  return findings;
}

/** Kubernetes refuses a container whose request is above its limit. */
function resourceFindings(name, { requests = {}, limits = {} }) {
  const isComplete = requests.cpu && requests.memory && limits.memory;
  const exceeded = Object.keys(limits).filter((kind) => amountOf(requests[kind]) > amountOf(limits[kind]));
  return [...(isComplete ? [] : [`${name} has no resources`]), ...exceeded.map((kind) => `${name} requests more ${kind} than its limit`)];
}

/** The number that a quantity such as 100m or 2Gi means. */
function amountOf(quantity) {
  const [, number, unit] = /^([\d.]+)(\D*)$/.exec(String(quantity)) ?? [];
  return Number(number) * (units[unit] ?? 1);
}

/** Objects accept only the fields that are described. */
function strictly(schema) {
  if (Array.isArray(schema)) return schema.map(strictly);
  if (schema === null || typeof schema !== 'object') return schema;
  // Patterns of Go that JavaScript does not have are left out.
  const isReadable = ([key, value]) => key !== 'pattern' || !String(value).includes('(?i)');
  const own = Object.fromEntries(
    Object.entries(schema)
      .filter(isReadable)
      .map(([key, value]) => [key, strictly(value)]),
  );
  if (own['x-kubernetes-int-or-string']) return {};
  if (own.$ref?.endsWith('.IntOrString') || own.$ref?.endsWith('.Quantity')) return {};
  const isOpen = own.additionalProperties !== undefined || own['x-kubernetes-preserve-unknown-fields'];
  return own.properties && typeof own.type === 'string' && !isOpen ? { ...own, additionalProperties: false } : own;
}
