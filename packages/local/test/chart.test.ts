import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { repositoryRoot } from '../src/host/environment.ts';
import { catalogue } from '../src/system/catalogue.ts';

const chart = (...path: string[]) => join(repositoryRoot, 'deploy/helm/agent-service', ...path);
const read = (...path: string[]) => readFileSync(chart(...path), 'utf8');

interface ChartProcess {
  kind: string;
  database: boolean;
  runtimeRole?: boolean;
  redis: boolean;
  secrets: string[];
  needs: string[];
  enabledBy?: string;
  outbound?: boolean;
}

test('the chart runs the processes of the catalogue, each with the secrets and addresses that it needs', () => {
  const processes = parse(read('files', 'processes.yaml')) as Record<string, ChartProcess>;
  const facts = ({ kind, database, runtimeRole = false, redis, secrets, needs }: Omit<ChartProcess, 'enabledBy'>) => ({
    kind,
    database,
    runtimeRole,
    redis,
    secrets: [...secrets].sort(),
    needs: [...needs].sort(),
  });
  const expected = catalogue.map((entry) => [entry.name, facts({ ...entry, secrets: [...entry.secrets], needs: [...entry.needs] })]);
  expect(Object.fromEntries(Object.entries(processes).map(([name, process]) => [name, facts(process)]))).toEqual(
    Object.fromEntries(expected),
  );
  for (const { name, enabledBy, outbound } of catalogue) {
    expect([name, processes[name]?.enabledBy]).toEqual([name, enabledBy && 'webhooks']);
    if (outbound) expect([name, processes[name]?.outbound]).toEqual([name, true]);
  }
});

test('every alert has a section of its own in the operations guide', () => {
  const { groups } = parse(read('files', 'alerts.yaml')) as {
    groups: { rules: { alert: string; annotations: { runbook_url: string } }[] }[];
  };
  const guide = readFileSync(join(repositoryRoot, 'docs/operations/alerts.md'), 'utf8');
  const rules = groups.flatMap((group) => group.rules);
  expect(rules.length).toBeGreaterThan(5);
  for (const { alert, annotations } of rules) {
    expect(guide).toContain(`\n## ${alert}\n`);
    expect(annotations.runbook_url).toBe(`docs/operations/alerts.md#${alert.toLowerCase()}`);
  }
});

test('alerts and dashboards use metrics that a process has', () => {
  const sources = ['packages', 'services'].flatMap((kind) =>
    readdirSync(join(repositoryRoot, kind)).flatMap((name) => sourcesOf(join(repositoryRoot, kind, name, 'src'))),
  );
  const text = sources.map((file) => readFileSync(file, 'utf8')).join('\n');
  const dashboards = readdirSync(chart('files', 'dashboards')).map((name) => JSON.stringify(panelsOf(read('files', 'dashboards', name))));
  const rules = [...read('files', 'alerts.yaml').matchAll(/expr: (.*)/g)].map(([, expression]) => expression);
  const names = [...rules, ...dashboards].join('\n').matchAll(/\b([a-z]+(?:_[a-z]+)+)\b(?=[{[) ]|$)/gm);
  const known = new Set([
    'clamp_min',
    'histogram_quantile',
    'nodejs_heap_size_used_bytes',
    'process_resident_memory_bytes',
    'process_cpu_seconds_total',
  ]);
  const metrics = new Set([...names].map(([, name = '']) => name.replace(/_(bucket|count|sum)$/, '')).filter((name) => !known.has(name)));
  expect(metrics.size).toBeGreaterThan(8);
  expect([...metrics].filter((name) => !text.includes(`'${name}'`))).toEqual([]);
});

function sourcesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file));
}

function panelsOf(text: string): string[] {
  const { panels } = JSON.parse(text) as { panels: { targets: { expr: string }[] }[] };
  return panels.flatMap(({ targets }) => targets.map(({ expr }) => `${expr} `));
}
