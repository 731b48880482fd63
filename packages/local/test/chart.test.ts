import { readFileSync } from 'node:fs';
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

test('network policies let processes out that reach addresses of organizations', () => {
  const processes = parse(read('files', 'processes.yaml')) as Record<string, ChartProcess>;
  // These settings say which private addresses a process may reach, beside all public ones.
  const reaches = ['DATA_SOURCE_ALLOWED_NETWORKS', 'WEBHOOK_ALLOWED_NETWORKS'];
  const outbound = catalogue.filter(({ settings }) => reaches.some((setting) => settings.includes(setting))).map(({ name }) => name);
  expect(outbound).toContain('answer-worker');
  expect(outbound.filter((name) => processes[name]?.outbound !== true)).toEqual([]);
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
