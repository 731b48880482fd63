import { agentStatuses } from '@agent-service/contracts/agents/fields';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Counted, countChanges } from './counts.ts';

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

test('an agent that stays where it is counted moves nothing', () => {
  fc.assert(fc.property(counted, (at) => expect(countChanges(at, { ...at })).toEqual([])));
});
