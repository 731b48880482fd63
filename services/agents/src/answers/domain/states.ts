/** The states of an answer that has not ended, and of a hold that is to be released. */
export const states = ['waiting', 'dispatched', 'running', 'settling', 'releasing'] as const;
export type State = (typeof states)[number];

interface Transition {
  /** The states in which the event may happen. In any other state it changes nothing. */
  readonly from: readonly State[];
  /** Null: the row is deleted. */
  readonly to: State | null;
}

/** All events in the life of an answer. The statements in `store/` take their conditions and new states from here. */
export const transitions = {
  /** A job is made for it. */
  dispatch: { from: ['waiting'], to: 'dispatched' },
  /** A worker begins an attempt, or asks again for the attempt that it has begun. */
  begin: { from: ['dispatched', 'running'], to: 'running' },
  renew: { from: ['running'], to: 'running' },
  /** A worker stops, dies or loses its lease. The answer gets another job. */
  return: { from: ['running'], to: 'dispatched' },
  /** Its job is lost or may be. The answer gets another one. */
  redispatch: { from: ['dispatched'], to: 'dispatched' },
  /** The result is stored, and will never be computed again. */
  complete: { from: ['running'], to: 'settling' },
  settle: { from: ['settling'], to: null },
  /** It fails, is cancelled, reaches its deadline, or its agent is deleted. */
  end: { from: ['waiting', 'dispatched', 'running'], to: 'releasing' },
  /** The ledger refuses to settle it. */
  endUnsettled: { from: ['settling'], to: 'releasing' },
  release: { from: ['releasing'], to: null },
} as const satisfies Record<string, Transition>;

export type Event = keyof typeof transitions;

/** Answers in these states count as in flight for their tenant; those that wait are counted apart. */
export const inFlightStates = ['dispatched', 'running', 'settling'] as const satisfies readonly State[];
