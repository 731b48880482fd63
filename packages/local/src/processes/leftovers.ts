import { until } from '../waiting.ts';
import { signalGroup } from './signals.ts';
import { isAlive, type ProcessMark } from './start-time.ts';

export interface Leftover extends ProcessMark {
  readonly stopSignal: NodeJS.Signals;
}

const stopLimitMs = 10_000;

/** Stops processes of a dead supervisor, the last started first. A later process under the same pid is left alone. */
export async function stopLeftovers(leftovers: readonly Leftover[]): Promise<void> {
  for (const leftover of leftovers.toReversed()) await stopLeftover(leftover);
}

async function stopLeftover(leftover: Leftover): Promise<void> {
  if (!isAlive(leftover)) return;
  signalGroup(leftover.pid, leftover.stopSignal, 'leader');
  if (await until(() => !isAlive(leftover), stopLimitMs)) return;
  signalGroup(leftover.pid, 'SIGKILL', 'group');
  await until(() => !isAlive(leftover), stopLimitMs);
}
