// The alerts and dashboards of the chart, and the metrics that the operations guides name, against the metrics of running processes.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { publicErrorCodes } from '@agent-service/contracts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeAgent, shareWorld, type World } from './world.ts';

const repository = new URL('../../../../', import.meta.url);
const files = new URL('deploy/helm/agent-service/files/', repository);
const guides = new URL('docs/operations/', repository);
const readText = (url: URL) => readFileSync(fileURLToPath(url), 'utf8');

/** Words of PromQL with an underscore, which are no metrics. */
const functions = ['histogram_quantile', 'clamp_min', 'max_over_time'];
/** Labels that Prometheus itself adds, or that are a part of every metric. */
const usualLabels = ['service', 'job', 'instance', 'namespace', 'le'];

/** The metrics of all processes by name, each with the labels that its samples have; one without samples has none. */
let metrics: ReadonlyMap<string, ReadonlySet<string>>;
/** The names of the processes that serve people. */
let httpServices: readonly string[];
let world: World;

beforeAll(async () => {
  world = await shareWorld();
  const { live } = world.ours.keys;
  const agent = await makeAgent(world.call, live);
  const body = JSON.stringify({ message: 'How many orders are there?' });
  const headers = { 'content-type': 'application/json' };
  expect((await world.call(live, { method: 'POST', path: `/v1/agents/${agent}/messages`, headers, body })).status).toBe(200);
  const texts = await readMetrics(world);
  metrics = labelsByMetric(texts);
  httpServices = texts
    .filter((text) => text.includes('# TYPE http_server_seconds '))
    .map((text) => /^process_start_time_seconds\{service="([^"]+)"/m.exec(text)?.[1] ?? 'unnamed');
});
afterAll(() => world?.stop());

async function readMetrics({ system }: World): Promise<string[]> {
  const addresses = Object.entries(system.endpoints).flatMap(([name, url]) => (name.endsWith('.ops') ? [url] : []));
  expect(addresses.length).toBeGreaterThanOrEqual(9);
  return await Promise.all(addresses.map(async (url) => await (await fetch(`${url}/metrics`)).text()));
}

function labelsByMetric(texts: readonly string[]): Map<string, Set<string>> {
  const labelsOf = new Map<string, Set<string>>();
  for (const line of texts.flatMap((text) => text.split('\n'))) readLine(line, labelsOf);
  return labelsOf;
}

function readLine(line: string, labelsOf: Map<string, Set<string>>): void {
  const [, declared, kind = ''] = /^# TYPE (\w+) (\w+)/.exec(line) ?? [];
  if (declared !== undefined) for (const name of namesOf(declared, kind)) labelsOf.set(name, labelsOf.get(name) ?? new Set());
  const [, sample = '', labels = ''] = /^(\w+)(?:\{(.*)\})? /.exec(line) ?? [];
  for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) labelsOf.get(sample)?.add(label);
}

const namesOf = (name: string, kind: string) => (kind === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name]);

/** Every expression of the alerts and of the panels, with the name of the alert or panel. */
function expressions(): (readonly [string, string])[] {
  const rules = readText(new URL('alerts.yaml', files)).matchAll(/- alert: (\w+)\n\s+expr: (.*)/g);
  const alerts = [...rules].map(([, alert = '', expression = '']) => [alert, expression] as const);
  const panels = readdirSync(new URL('dashboards/', files)).flatMap((name) => {
    const dashboard = JSON.parse(readText(new URL(`dashboards/${name}`, files))) as Dashboard;
    return dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [`${name}: ${title}`, expr] as const));
  });
  return [...alerts, ...panels];
}

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
}

const metricsIn = (expression: string) =>
  [...expression.replaceAll(/\{[^}]*\}|\bby \([^)]*\)/g, ' ').matchAll(/\b[a-z]+(?:_[a-z]+)+\b/g)]
    .map(([name]) => name)
    .filter((name) => !functions.includes(name));

const labelsIn = (expression: string) => [
  ...[...expression.matchAll(/\{([^}]*)\}/g)].flatMap(([, matchers = '']) =>
    [...matchers.matchAll(/(\w+)[=!]/g)].map(([, label = '']) => label),
  ),
  ...[...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(',').map((label) => label.trim())),
];

test('every metric of an alert or a panel is one that a running process has', () => {
  const all = expressions();
  expect(all.length).toBeGreaterThan(20);
  const faults = all.flatMap(([where, expression]) => {
    const names = metricsIn(expression);
    const unknown = names.filter((name) => !metrics.has(name)).map((name) => `${where}: there is no metric ${name}`);
    return names.length > 0 ? unknown : [`${where}: names no metric`];
  });
  expect(faults).toEqual([]);
});

test('every label of an alert or a panel is one that the samples of its metrics have', () => {
  let compared = 0;
  const faults = expressions().flatMap(([where, expression]) => {
    const known = metricsIn(expression).map((name) => metrics.get(name) ?? new Set<string>());
    // A counter of something that has not happened yet has no samples.
    if (known.some((labels) => labels.size === 0)) return [];
    compared += 1;
    const isKnown = (label: string) => usualLabels.includes(label) || known.some((labels) => labels.has(label));
    return labelsIn(expression).flatMap((label) => (isKnown(label) ? [] : [`${where}: its metrics have no label ${label}`]));
  });
  expect(faults).toEqual([]);
  expect(compared).toBeGreaterThan(10);
});

test('an alert and a panel name the namespace of each metric: the chart replaces it, and the dashboard chooses it', () => {
  const faults = expressions().flatMap(([where, expression]) => {
    const selector = where.includes(':') ? '{namespace=~"$namespace"' : '{namespace=~".*"';
    return metricsIn(expression).flatMap((name) => (expression.includes(`${name}${selector}`) ? [] : [`${where}: ${name}`]));
  });
  expect(faults).toEqual([]);
});

test('an alert on absence asks for one metric by its labels', () => {
  const absences = expressions().filter(([, expression]) => expression.includes('absent('));
  expect(absences.length).toBeGreaterThan(0);
  // The result has the labels of a selector, and none for any other expression: two that are joined with "and" never fire.
  expect(absences.filter(([, expression]) => !/^absent\(\w+\{[^}]*\}\)$/.test(expression))).toEqual([]);
});

test('the alert on failed requests reads every process that serves people', () => {
  const [, expression = ''] = expressions().find(([alert]) => alert === 'AgentServiceErrors') ?? [];
  const selectors = [...expression.matchAll(/\bservice=~?"([^"]*)"/g)].map(([, services = '']) => services.split('|').sort());
  expect(selectors.length).toBeGreaterThan(0);
  for (const services of selectors) expect(services).toEqual([...new Set(httpServices)].sort());
});

test('an alert on failed answers names codes that answers fail with', () => {
  const codes = expressions().flatMap(([, expression]) =>
    [...expression.matchAll(/\bfailure=~"([^"]*)"/g)].flatMap(([, names = '']) => names.split('|')),
  );
  expect(codes.length).toBeGreaterThan(0);
  expect(codes.filter((code) => !Object.hasOwn(publicErrorCodes, code))).toEqual([]);
});

test('the operations guides name no metric that a process does not have', () => {
  const guideNames = readdirSync(guides).flatMap((file) =>
    [...readText(new URL(file, guides)).matchAll(/`([a-z]+(?:_[a-z]+)+)(?:\{[^`]*)?`/g)].map(([, name = '']) => [file, name] as const),
  );
  const looksLikeMetric = ([, name]: readonly [string, string]) =>
    /_(total|seconds|bytes|active|waiting|open|letters|unopened)$/.test(name);
  const named = guideNames.filter(looksLikeMetric);
  expect(named.length).toBeGreaterThan(2);
  const isKnown = (name: string) => metrics.has(name) || metrics.has(`${name}_count`);
  expect(named.filter(([, name]) => !isKnown(name))).toEqual([]);
});
