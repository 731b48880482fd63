import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts processor time in hundredths of a second. */
const ticksPerSecond = 100;

interface Stat {
  readonly parent: number;
  /** Processor time of the process itself and of its children that have ended. */
  readonly milliseconds: number;
}

function readStat(pid: string): Stat | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The name in parentheses may hold spaces; the fields after it do not.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0);
  return { parent: Number(fields[1]), milliseconds: (ticks * 1000) / ticksPerSecond };
}

/** Milliseconds of processor time that each named process has used so far, with all its descendants. */
export function readProcessorTimes(pids: Readonly<Record<string, number>>): Record<string, number> {
  const names = new Map(Object.entries(pids).map(([name, pid]) => [pid, name]));
  const stats = new Map<number, Stat>();
  for (const entry of readdirSync('/proc')) {
    const stat = /^\d+$/.test(entry) ? readStat(entry) : undefined;
    if (stat) stats.set(Number(entry), stat);
  }
  const times: Record<string, number> = {};
  for (const [pid, { milliseconds }] of stats) {
    let ancestor: number | undefined = pid;
    while (ancestor !== undefined && !names.has(ancestor)) ancestor = stats.get(ancestor)?.parent;
    const name = ancestor === undefined ? undefined : names.get(ancestor);
    if (name) times[name] = (times[name] ?? 0) + milliseconds;
  }
  return times;
}
