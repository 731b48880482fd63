import { LocalError } from './local-error.ts';

const most = 20;

/** How many processes of each service run: `REPLICAS="identity=2 gateway=2"`, one of each that is not named. */
export function parseReplicas(text: string | undefined, services: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map(services.map((name) => [name, 1]));
  for (const part of (text ?? '').split(/[\s,]+/).filter(Boolean)) {
    const [, name = '', count = ''] = /^([a-z-]+)=(\d+)$/.exec(part) ?? [];
    if (!counts.has(name)) throw new LocalError(`REPLICAS: "${part}" should be name=number, with a name out of: ${services.join(', ')}`);
    if (Number(count) < 1 || Number(count) > most) throw new LocalError(`REPLICAS: "${part}" asks for a number outside of 1 to ${most}`);
    counts.set(name, Number(count));
  }
  return counts;
}

/** `identity`, `identity-2`, `identity-3` … */
export function replicaName(service: string, index: number): string {
  return index === 0 ? service : `${service}-${index + 1}`;
}
