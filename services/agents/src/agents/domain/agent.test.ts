import { type AgentStatus, agentStatuses } from '@agent-service/contracts/agents/fields';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type ChangeOutcome, changeAgent } from './agent.ts';
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

test('a change does what it names and nothing else, and tells which fields are not what they were', () => {
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

test('version and time move together, by every change that changes something and by no other', () => {
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
