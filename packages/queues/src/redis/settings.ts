import { setting } from '@agent-service/runtime/config';
import { z } from 'zod';

const redisUrl = setting.text().superRefine((value, context) => {
  try {
    parseNodes(value);
  } catch (cause) {
    context.addIssue((cause as Error).message);
  }
});

/** One Redis node, or several separated by commas. The nodes are asked for their kind unless REDIS_MODE names it. */
export const redisSettings = {
  REDIS_URL: redisUrl.describe(
    'Limits and queues: only what can be rebuilt. One server, or several of a cluster or sentinels: `redis://one:6379,two:6379`; `rediss://` for TLS.',
  ),
  REDIS_MODE: z
    .enum(['auto', 'single', 'sentinel', 'cluster'], 'must be auto, single, sentinel or cluster')
    .default('auto')
    .describe('The kind of servers behind `REDIS_URL`; `auto` asks the servers.'),
  REDIS_SENTINEL_MASTER: setting.text().optional().describe("The sentinels' name of the primary; needed only where they watch several."),
};

const schema = z.object(redisSettings);
export type RedisConfig = z.output<typeof schema>;

/** One address of REDIS_URL. */
export interface RedisNode {
  readonly host: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
  readonly tls: boolean;
}

const defaultPort = 6379;

/**
 * Reads `redis://user:password@one:6379/2` and `redis://user:password@one:6379,two:6379`. Nodes after the first need no
 * scheme and share its credentials, database and TLS; a whole URL is accepted as well. Errors are sentences for the operator.
 */
export function parseNodes(text: string): RedisNode[] {
  const [first = '', ...others] = text.split(',').map((part) => part.trim());
  const primary = parseNode(first);
  return [primary, ...others.map((part) => (part.includes('://') ? parseNode(part) : { ...primary, ...addressOf(part) }))];
}

function parseNode(text: string): RedisNode {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['redis:', 'rediss:'].includes(url.protocol)) throw new RangeError('must be a URL that begins with redis:// or rediss://');
  if (!url.hostname) throw new RangeError('must name a host');
  if (url.search || url.hash) throw new RangeError('must not have a query or a fragment');
  const database = url.pathname.replace(/^\//, '');
  if (!/^\d{0,5}$/.test(database)) throw new RangeError('must end in the number of a database, or in none');
  return {
    host: bare(url.hostname),
    port: Number(url.port || defaultPort),
    username: decodePart(url.username),
    password: decodePart(url.password),
    db: Number(database),
    tls: url.protocol === 'rediss:',
  };
}

function addressOf(text: string): Pick<RedisNode, 'host' | 'port'> {
  if (text === '' || text.includes('@') || text.includes('/')) throw new RangeError('must be nodes like redis://one:6379,two:6379');
  const { host, port } = parseNode(`redis://${text}`);
  return { host, port };
}

/** Removes the brackets of an IPv6 address. */
const bare = (hostname: string) => hostname.replace(/^\[(.*)\]$/, '$1');

function decodePart(part: string): string | undefined {
  try {
    return part === '' ? undefined : decodeURIComponent(part);
  } catch (cause) {
    throw new RangeError('must have its credentials percent-encoded', { cause });
  }
}
