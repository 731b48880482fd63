import { join } from 'node:path';
import { readCredentials } from './secrets.ts';

interface BannerOptions {
  readonly url: string;
  /** Has the credentials. */
  readonly dataDir: string;
  /** How the system is stopped, as the end of a sentence. */
  readonly stop: string;
  /** Further lines: a name and a value. */
  readonly rows: readonly (readonly [string, string])[];
}

/** The addresses, keys and folders of a system, and a first call to copy. */
export function banner({ url, dataDir, stop, rows: further }: BannerOptions): string {
  const keys = readCredentials(join(dataDir, 'credentials.json'))?.api_keys;
  const rows: (readonly [string, string | undefined])[] = [
    ['API', url],
    ['Reference', `${url}/docs`],
    ['Key (live)', keys?.live],
    ['Key (test)', keys?.test],
    ...further,
  ];
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  const lines = rows.flatMap(([name, value]) => (value === undefined ? [] : [`  ${name.padEnd(width)}${value}`]));
  const call = keys?.live === undefined ? [] : ['', '  Try it:', `  curl -s ${url}/v1/users -H "Authorization: Bearer ${keys.live}"`];
  return ['', `  Agent Service is ready. ${stop} stops it.`, '', ...lines, ...call, ''].join('\n');
}
