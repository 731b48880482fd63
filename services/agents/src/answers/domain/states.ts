/** Where an answer in hand stands. One that has ended has no state any more: its message is history, its hold is settled or released. */
export const states = ['waiting', 'dispatched', 'running', 'settling', 'releasing'] as const;
export type State = (typeof states)[number];

/** What can happen to an answer in hand. */
export const events = ['dispatch', 'begin', 'handBack', 'complete', 'end', 'settled', 'unpayable', 'released'] as const;
export type Event = (typeof events)[number];

/** What whoever brings an event about must see to after its commit, and a sweep in his stead when he is gone. */
export type Duty = 'job' | 'settle' | 'release' | 'none';

export interface Transition {
  /** Null: the row goes. */
  readonly to: State | null;
  readonly owes: Duty;
  /** The assistant's message is written, once, in the same transaction. */
  readonly ends: boolean;
}

const to = (state: State, owes: Duty = 'none', ends = false): Transition => ({ to: state, owes, ends });

/**
 * The whole life of an answer. `begin` of a running one is a new attempt after its lease ran out; `handBack` is that same
 * running out, or a worker that stops; `end` is a failure, a cancellation, a passed deadline or a deleted agent.
 */
const transitions: Readonly<Record<State, Partial<Record<Event, Transition>>>> = {
  waiting: { dispatch: to('dispatched', 'job'), end: to('releasing', 'release', true) },
  dispatched: { begin: to('running'), handBack: to('dispatched', 'job'), end: to('releasing', 'release', true) },
  running: {
    begin: to('running'),
    handBack: to('dispatched', 'job'),
    complete: to('settling', 'settle'),
    end: to('releasing', 'release', true),
  },
  settling: { settled: { to: null, owes: 'none', ends: true }, unpayable: to('releasing', 'release', true) },
  releasing: { released: { to: null, owes: 'none', ends: false } },
};

/** Undefined where the event is not legal: then nothing changes. */
export const transition = (state: State, event: Event): Transition | undefined => transitions[state][event];

/** The states in which an event is legal. */
export const statesThatAllow = (event: Event): readonly State[] => states.filter((state) => transition(state, event) !== undefined);

/** The states of answers that a tenant's line counts as in flight. */
export const inFlight: readonly State[] = ['dispatched', 'running', 'settling'];

/** Which counter of the tenant's line an answer in this state stands in. */
export const countedAs = (state: State): 'waiting' | 'inFlight' | 'nothing' =>
  state === 'waiting' ? 'waiting' : inFlight.includes(state) ? 'inFlight' : 'nothing';
