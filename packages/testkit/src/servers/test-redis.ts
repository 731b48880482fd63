import { Redis } from 'ioredis';
import { redisDatabases, sharedInfrastructure } from '../infrastructure/settings.ts';

/**
 * A logical database of the shared Redis that no other file has: keys are apart, while channels and FLUSHALL are not.
 * A test that flushes, stops or watches a whole Redis takes one of its own with `ownRedis`.
 */
export async function testRedis(): Promise<{ readonly url: string }> {
  const { redisUrl } = sharedInfrastructure();
  const client = new Redis(redisUrl);
  try {
    const number = await client.incr('test-databases-given');
    if (number >= redisDatabases) throw new Error(`more than ${redisDatabases - 1} logical databases of Redis were asked for`);
    return { url: `${redisUrl}/${number}` };
  } finally {
    client.disconnect();
  }
}
