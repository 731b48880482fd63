import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Event, inFlightStates, type State, states, timeOf, transitions, userMessageIdOf } from './answer.ts';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const random = fc.array(fc.constantFrom(...alphabet), { minLength: 16, maxLength: 16 }).map((characters) => characters.join(''));
const time = fc.integer({ min: 1, max: Date.UTC(10_000, 0) - 1 });

/** The time as ids carry it: ten places of five bits. */
function encoded(milliseconds: number): string {
  const bits = milliseconds.toString(2).padStart(50, '0');
  return (bits.match(/.{5}/g) ?? []).map((five) => alphabet[Number.parseInt(five, 2)]).join('');
}

test('an id has a time, and the id of the user’s message is a millisecond older and otherwise the same', () => {
  fc.assert(
    fc.property(time, random, (at, rest) => {
      const id = `msg_${encoded(at)}${rest}`;
      expect(timeOf(id)).toBe(at);
      expect(userMessageIdOf(id)).toBe(`msg_${encoded(at - 1)}${rest}`);
      expect(userMessageIdOf(id) < id).toBe(true);
    }),
  );
});

test('a text that is not the id of a message has no time', () => {
  for (const id of [
    '',
    'msg_',
    'msg_1',
    `conv_${'0'.repeat(26)}`,
    `msg_8${'0'.repeat(25)}`,
    `msg_${'u'.repeat(26)}`,
    `msg_${'0'.repeat(27)}`,
    `msg_${'0'.repeat(26)}`,
    `msg_7${'z'.repeat(25)}`,
    `msg_${encoded(Date.UTC(10_000, 0))}${'0'.repeat(16)}`,
  ])
    expect(timeOf(id)).toBeUndefined();
  expect(() => userMessageIdOf(`msg_${'0'.repeat(26)}`)).toThrow(RangeError);
});

const events = Object.keys(transitions) as Event[];

const transition = (state: State, event: Event): { to: State | null } | undefined => {
  const { from, to } = transitions[event];
  return (from as readonly State[]).includes(state) ? { to } : undefined;
};

/** The assistant's message is written by these events. */
const ends = new Set<Event>(['settle', 'end', 'endUnsettled']);

/** The events of a history that happen to an answer; those that its state does not allow change nothing. */
function live(history: readonly Event[]): { state: State | null; happened: Event[] } {
  let state: State | null = 'waiting';
  const happened: Event[] = [];
  for (const event of history) {
    const step: { to: State | null } | undefined = state === null ? undefined : transition(state, event);
    if (!step) continue;
    state = step.to;
    happened.push(event);
  }
  return { state, happened };
}

const histories = fc.array(fc.constantFrom(...events), { maxLength: 60 });
const countOf = (happened: readonly Event[], isCounted: (event: Event) => boolean) => happened.filter(isCounted).length;

test('in any order of events an answer ends at most once, and exactly once when its row is deleted', () => {
  fc.assert(
    fc.property(histories, (history) => {
      const { state, happened } = live(history);
      expect(countOf(happened, (event) => ends.has(event))).toBe(state === null || state === 'releasing' ? 1 : 0);
    }),
  );
});

test('a hold is settled or released, and released after a stored result only where it could not be settled', () => {
  fc.assert(
    fc.property(histories, (history) => {
      const { happened } = live(history);
      const endings = countOf(happened, (event) => event === 'settle' || event === 'release');
      expect(endings).toBeLessThanOrEqual(1);
      if (happened.includes('complete') && happened.includes('release')) expect(happened).toContain('endUnsettled');
    }),
  );
});

test('a stored result is never computed again, nor cancelled', () => {
  expect(events.filter((event) => transition('settling', event))).toEqual(['settle', 'endUnsettled']);
});

test('every state is left by an event', () => {
  for (const state of states) expect(events.some((event) => transition(state, event)?.to !== state && transition(state, event))).toBe(true);
});

const countedAs = (state: State | null) => {
  if (state === 'waiting') return 'waiting';
  return (inFlightStates as readonly (State | null)[]).includes(state) ? 'inFlight' : 'nothing';
};

test('only dispatching counts an answer as in flight, and only its end stops that', () => {
  for (const event of events)
    for (const state of transitions[event].from) {
      const [before, after] = [countedAs(state), countedAs(transitions[event].to)];
      if (before === 'waiting') expect(after).toBe(event === 'dispatch' ? 'inFlight' : 'nothing');
      if (before === 'inFlight') expect(after === 'nothing').toBe(ends.has(event));
    }
});
