/** A figure that is promised, and what was measured. Ratios only: absolute times say more of the machine than of the code. */
export interface Promised {
  readonly name: string;
  readonly measured: number;
  readonly atLeast?: number;
  readonly atMost?: number;
}

export interface Outcome {
  readonly promises: readonly Promised[];
  /** Other figures that help to understand the ratios. */
  readonly figures: Readonly<Record<string, number | string | readonly number[]>>;
}

/** One comparison of the product with its floor, both measured in the same run on the same machine. */
export interface Scenario {
  readonly name: string;
  readonly about: string;
  run(say: (line: string) => void): Promise<Outcome>;
}

export const isKept = ({ measured, atLeast, atMost }: Promised): boolean =>
  (atLeast === undefined || measured >= atLeast) && (atMost === undefined || measured <= atMost);

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

/** The milliseconds that the work takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}

interface Rounds {
  /** Rounds before the measured ones. */
  readonly warmUps: number;
  readonly measured: number;
}

/** Times the steps in turns, so that other load of the machine slows all of them. Returns the times of each step. */
export async function timeInTurns(steps: readonly (() => Promise<unknown>)[], { warmUps, measured }: Rounds): Promise<number[][]> {
  const times: number[][] = steps.map(() => []);
  for (let round = 0; round < warmUps + measured; round += 1) {
    for (const [index, step] of steps.entries()) {
      const time = await timed(step);
      if (round >= warmUps) times[index]?.push(time);
    }
  }
  return times;
}

/** The median times of two steps that are measured in turns. */
export async function mediansInTurns(
  one: () => Promise<unknown>,
  other: () => Promise<unknown>,
  rounds: Rounds,
): Promise<[number, number]> {
  const [first = [], second = []] = await timeInTurns([one, other], rounds);
  return [median(first), median(second)];
}
