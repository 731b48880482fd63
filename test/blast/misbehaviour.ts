import type { BlastWorld } from './world.ts';

/** One way in which a tenant, a replica, a clock or a statement goes wrong. */
export interface Misbehaviour {
  readonly name: string;
  /** The suite whose short form has the same fault, which the short form of this one therefore leaves out. */
  readonly coveredBy?: string;
  /** Goes wrong for about this long, and leaves the system as it was. */
  run(world: BlastWorld, durationMs: number): Promise<void>;
}

/** Repeats an action with this many at once until the time is over. */
export async function repeatFor(durationMs: number, parallel: number, action: (index: number) => Promise<unknown>): Promise<void> {
  const end = performance.now() + durationMs;
  let next = 0;
  const loop = async () => {
    while (performance.now() < end) await action(next++);
  };
  await Promise.all(Array.from({ length: parallel }, loop));
}
