import { join } from 'node:path';
import { readCredentials } from './credentials.ts';
import type { LocalSystem } from './system.ts';

/** Where everything is, and a first call to copy. */
export function banner(system: LocalSystem): string {
  const keys = readCredentials(join(system.dataDir, 'credentials.json'))?.api_keys;
  const rows: [string, string | undefined][] = [
    ['API', system.url],
    ['Reference', `${system.url}/docs`],
    ['Key (live)', keys?.live],
    ['Key (test)', keys?.test],
    ['Logs', join(system.dataDir, 'logs')],
    ['Data', `${system.dataDir}   (npm run reset removes it)`],
  ];
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  const lines = rows.flatMap(([name, value]) => (value === undefined ? [] : [`  ${name.padEnd(width)}${value}`]));
  const call =
    keys?.live === undefined ? [] : ['', '  Try it:', `  curl -s ${system.url}/v1/users -H "Authorization: Bearer ${keys.live}"`];
  return ['', '  Agent Service is ready. Ctrl-C stops it.', '', ...lines, ...call, ''].join('\n');
}
