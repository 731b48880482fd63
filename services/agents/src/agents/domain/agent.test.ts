import type { Tenant } from '@agent-service/contracts';
import { type AgentStatus, agentStatuses } from '@agent-service/contracts/agents/fields';
import { foldCase } from '@agent-service/contracts/strings';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  allFields,
  type ChangeOutcome,
  type Counted,
  changeAgent,
  countChanges,
  gramsNeeded,
  gramsOf,
  toAuditChanges,
  toEventData,
} from './agent.ts';
import { agents, changes } from './testing/agents.ts';

const changed = (outcome: ChangeOutcome) => {
  if (outcome.kind !== 'changed') throw new Error('the change was refused');
  return outcome;
};

const allowed: [AgentStatus, AgentStatus][] = [
  ['draft', 'draft'],
  ['draft', 'active'],
  ['active', 'active'],
  ['active', 'inactive'],
  ['inactive', 'inactive'],
  ['inactive', 'active'],
];

test.each(agentStatuses.flatMap((from) => agentStatuses.map((to) => [from, to] as const)))('from %s to %s', (from, to) => {
  fc.assert(
    fc.property(agents, (agent) => {
      const outcome = changeAgent({ ...agent, status: from }, { status: to }, 5_000);
      const may = allowed.some(([one, other]) => one === from && other === to);
      expect(outcome.kind).toBe(may ? 'changed' : 'refused');
    }),
  );
});

test('a change sets the fields that it names and no others, and lists the fields whose values differ', () => {
  fc.assert(
    fc.property(agents, changes, fc.nat(), (agent, { status: _, ...named }, now) => {
      const { agent: after, fields } = changed(changeAgent(agent, named, now));
      for (const field of Object.keys(named) as (keyof typeof named)[]) {
        if (named[field] !== undefined) expect(after[field]).toEqual(named[field]);
      }
      const different = (Object.keys(after) as (keyof typeof after)[]).filter(
        (field) => !['version', 'updatedAt'].includes(field) && JSON.stringify(after[field]) !== JSON.stringify(agent[field]),
      );
      expect(new Set<string>(fields)).toEqual(new Set(different));
    }),
  );
});

test('version and time are raised together, by every change that has a difference and by no other', () => {
  fc.assert(
    fc.property(agents, changes, fc.nat(), (agent, { status: _, ...named }, now) => {
      const { agent: after, fields } = changed(changeAgent(agent, named, now));
      if (fields.length === 0) return expect(after).toBe(agent);
      expect(after.version).toBe(agent.version + 1);
      expect(after.updatedAt).toBeGreaterThan(agent.updatedAt);
      expect(after.updatedAt).toBe(Math.max(now, agent.updatedAt + 1));
    }),
  );
});

test('the same change a second time changes nothing', () => {
  fc.assert(
    fc.property(agents, changes, (agent, { status: _, ...named }) => {
      const once = changed(changeAgent(agent, named, 10));
      expect(changed(changeAgent(once.agent, named, 20)).fields).toEqual([]);
    }),
  );
});

const counted: fc.Arbitrary<Counted> = fc.record({
  status: fc.constantFrom(...agentStatuses),
  category: fc.constantFrom('', 'sales', 'finance', 'hr'),
});
const counterKey = ({ status, category }: Counted) => `${status} ${category}`;

test('after any history the counters are what counting the agents gives', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(5), fc.option(counted, { nil: undefined })), { maxLength: 60 }), (steps) => {
      const agents = new Map<number, Counted>();
      const counters = new Map<string, number>();
      for (const [id, after] of steps) {
        for (const { by, ...at } of countChanges(agents.get(id), after))
          counters.set(counterKey(at), (counters.get(counterKey(at)) ?? 0) + by);
        if (after) agents.set(id, after);
        else agents.delete(id);
        expect(Math.min(0, ...counters.values())).toBe(0);
      }
      const recounted = new Map<string, number>();
      for (const agent of agents.values()) recounted.set(counterKey(agent), (recounted.get(counterKey(agent)) ?? 0) + 1);
      expect(new Map([...counters].filter(([, count]) => count !== 0))).toEqual(recounted);
    }),
  );
});

test('an agent whose groups stay the same changes no counter', () => {
  fc.assert(fc.property(counted, (at) => expect(countChanges(at, { ...at })).toEqual([])));
});

const secret = 'a prompt that only the model may see';

test('no audit entry and no event holds a prompt', () => {
  fc.assert(
    fc.property(agents, (plain) => {
      const agent = { ...plain, systemPrompt: secret, suggestedPrompts: [secret] };
      const events = [
        { type: 'agent.created', agent },
        { type: 'agent.updated', agent, fields: allFields },
        { type: 'agent.deleted', agent, deletedAt: 1 },
      ] as const;
      for (const event of events) expect(JSON.stringify([toAuditChanges(event), toEventData(event)])).not.toContain(secret);
      expect(toAuditChanges({ type: 'agent.updated', agent, fields: ['systemPrompt'] })).toEqual({ system_prompt: '***' });
    }),
  );
});

test('an update names the fields of the API, each once', () => {
  fc.assert(
    fc.property(agents, (agent) => {
      const changed = (fields: readonly (typeof allFields)[number][]) => toEventData({ type: 'agent.updated', agent, fields });
      expect(changed(['tables', 'readOnly', 'name'])['changed_fields']).toEqual(['data_scope', 'name']);
      const data = changed(['chartEnabled', 'status']);
      expect(data['changed_fields']).toEqual(['output_preferences', 'status']);
      expect(Object.keys(data['agent'] as object)).toEqual([
        'id',
        'name',
        'description',
        'category',
        'status',
        'model',
        'created_at',
        'updated_at',
      ]);
    }),
  );
});

const tenant: Tenant = { organizationId: 'org_a', environment: 'live' };
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc
    .array(fc.constantFrom('a', 'b', 'ß', 'ẞ', 'ς', 'Σ', 'İ', '%', '_', '\\', ' ', '東', '京', '😀'), { maxLength: 60 })
    .map((letters) => letters.join('')),
);
const isIn = (needed: readonly number[], grams: readonly number[]) => needed.every((gram) => grams.includes(gram));

test('the index finds every text that the search is part of', () => {
  fc.assert(
    fc.property(text, text, fc.nat(80), fc.integer({ min: 1, max: 80 }), (name, description, from, length) => {
      const [one, other] = [foldCase(name), foldCase(description)];
      const search = [...other].slice(from, from + length).join('');
      fc.pre(search !== '');
      expect(isIn(gramsNeeded(tenant, search), gramsOf(tenant, one, other))).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test('upper and lower case are the same at every position', () => {
  fc.assert(
    fc.property(text, (input) => {
      expect(foldCase(input.toUpperCase())).toBe(foldCase(input));
      expect(foldCase(foldCase(input))).toBe(foldCase(input));
    }),
  );
  expect(foldCase('STRAẞE')).toBe(foldCase('Straße'));
  expect(foldCase('STRASSE')).toBe(foldCase('straße'));
  expect(foldCase('ΟΔΟΣ')).toBe(foldCase('οδος'));
  expect(foldCase('ΟΔΟΣ').startsWith(foldCase('Οδ'))).toBe(true);
  for (const greek of ['ῢ', 'ΐ', 'ΰ']) expect(foldCase(greek.toUpperCase())).toBe(foldCase(greek));
});

test('a search of one or two characters needs a gram like any other', () => {
  for (const search of ['京', '東京', 'x', '%_']) expect(gramsNeeded(tenant, search)).toHaveLength(1);
});

test('a search needs a bounded number of trigrams, and at least one', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 2_000 }), (search) => {
      const needed = gramsNeeded(tenant, search);
      expect(needed.length).toBeGreaterThanOrEqual(1);
      expect(needed.length).toBeLessThanOrEqual(12);
      expect(needed.every((gram) => Number.isInteger(gram) && Math.abs(gram) <= 2 ** 31)).toBe(true);
    }),
  );
});

test("another tenant's agents with the same words share no grams", () => {
  const words = foldCase('Quarterly revenue by region and product');
  const grams = new Set(gramsOf(tenant, words));
  for (const other of [
    { organizationId: 'org_b', environment: 'live' },
    { organizationId: 'org_a', environment: 'test' },
  ] as const) {
    expect(gramsOf(other, words).filter((gram) => grams.has(gram))).toEqual([]);
  }
});
