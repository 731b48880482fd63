import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { countedAs, type Event, events, inFlight, type State, states, statesThatAllow, type Transition, transition } from './states.ts';

/** What an answer has been through when it meets these events in this order; events that are not legal change nothing. */
function live(history: readonly Event[]): { state: State | null; ends: number; owed: string[] } {
  let state: State | null = 'waiting';
  let ends = 0;
  const owed: string[] = [];
  for (const event of history) {
    const step: Transition | undefined = state === null ? undefined : transition(state, event);
    if (!step) continue;
    state = step.to;
    ends += step.ends ? 1 : 0;
    if (step.owes !== 'none') owed.push(step.owes);
  }
  return { state, ends, owed };
}

const histories = fc.array(fc.constantFrom(...events), { maxLength: 60 });

test('in whatever order things happen, an answer ends at most once, and exactly once when its row is gone', () => {
  fc.assert(
    fc.property(histories, (history) => {
      const { state, ends } = live(history);
      expect(ends).toBe(state === null || state === 'releasing' ? 1 : 0);
    }),
  );
});

test('a hold is settled or released, and asked to be released after a settling only where it can not be paid', () => {
  fc.assert(
    fc.property(histories, (history) => {
      const { owed } = live(history);
      expect(owed.filter((duty) => duty === 'settle').length).toBeLessThanOrEqual(1);
      expect(owed.filter((duty) => duty === 'release').length).toBeLessThanOrEqual(1);
      if (owed.includes('settle') && owed.includes('release')) expect(history).toContain('unpayable');
    }),
  );
});

test('a stored result is never computed again, nor cancelled', () => {
  const allowed = events.filter((event) => transition('settling', event));
  expect(allowed).toEqual(['settled', 'unpayable']);
});

test('every state is left by some event, and every event is legal somewhere', () => {
  for (const state of states) expect(events.some((event) => transition(state, event))).toBe(true);
  for (const event of events) expect(statesThatAllow(event)).not.toEqual([]);
});

const steps = states.flatMap((state) =>
  events.flatMap((event) => {
    const step = transition(state, event);
    return step ? [{ event, step, before: countedAs(state), after: step.to === null ? 'nothing' : countedAs(step.to) }] : [];
  }),
);

test('only dispatching moves an answer from waiting to in flight, and only what ends it takes it out', () => {
  for (const { event, after } of steps.filter(({ before }) => before === 'waiting'))
    expect(after).toBe(event === 'dispatch' ? 'inFlight' : 'nothing');
  for (const { step, after } of steps.filter(({ before }) => before === 'inFlight')) expect(after === 'nothing').toBe(step.ends);
  expect(inFlight).toEqual(['dispatched', 'running', 'settling']);
});
