import { existsSync, readFileSync } from 'node:fs';

const status = '/proc/self/status';

/** The peak of the memory of this process, in MB. On Linux the usage that the system reports begins with the memory of the parent. */
export function ownPeak(): number {
  const [, kilobytes] = (existsSync(status) && /VmHWM:\s+(\d+) kB/.exec(readFileSync(status, 'utf8'))) || [];
  return Math.round(Number(kilobytes ?? process.resourceUsage().maxRSS) / 1_024);
}
