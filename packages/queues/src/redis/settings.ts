import { setting } from '@agent-service/runtime/config';
import { z } from 'zod';

const redisUrl = setting.text().superRefine((value, context) => {
  try {
    parseNodes(value);
  } catch (cause) {
    context.addIssue((cause as Error).message);
  }
});

/** Where Redis is: one node, or several separated by commas. What they are is asked of them unless REDIS_MODE says. */
export const redisSettings = {
  REDIS_URL: redisUrl,
  REDIS_MODE: z.enum(['auto', 'single', 'sentinel', 'cluster'], 'must be auto, single, sentinel or cluster').default('auto'),
  /** The name under which sentinels know the primary; needed only when they watch over several. */
  REDIS_SENTINEL_MASTER: setting.text().optional(),
};

const schema = z.object(redisSettings);
export type RedisConfig = z.output<typeof schema>;

/** One address out of REDIS_URL. */
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
 * Reads `redis://user:password@one:6379/2` and `redis://user:password@one:6379,two:6379`. What follows the first needs no
 * scheme and shares its credentials, database and TLS; a whole URL may stand there as well. Throws a sentence for the operator.
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
    username: decoded(url.username),
    password: decoded(url.password),
    db: Number(database),
    tls: url.protocol === 'rediss:',
  };
}

function addressOf(text: string): Pick<RedisNode, 'host' | 'port'> {
  if (text === '' || text.includes('@') || text.includes('/')) throw new RangeError('must be nodes like redis://one:6379,two:6379');
  const { host, port } = parseNode(`redis://${text}`);
  return { host, port };
}

/** An IPv6 address without the brackets that it wears in a URL. */
const bare = (hostname: string) => hostname.replace(/^\[(.*)\]$/, '$1');

function decoded(part: string): string | undefined {
  try {
    return part === '' ? undefined : decodeURIComponent(part);
  } catch (cause) {
    throw new RangeError('must have its credentials percent-encoded', { cause });
  }
}
