import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@agent-service/local/host/ports';
import { beginLife, waitUntilReady } from '@agent-service/local/processes/life';
import { prepareRedis } from '@agent-service/local/redis/server';
import { agentsWithMatches, matches, searches } from '../agents/descriptions.ts';
import { type AgentsService, startAgentsService } from '../agents/service.ts';
import { onEnd } from '../cleanup.ts';
import { startDurablePostgres } from '../durable-postgres.ts';
import { mediansInTurns, type Promised, type Scenario } from '../scenario.ts';

const many = Number(process.env['BENCH_AGENTS'] ?? 100_000);
const few = 1_000;
const rounds = { warmUps: 10, measured: 60 };
/** The sizes of the default and of the largest page. */
const limits = [20, 100];

/** The cost of listing an organization's agents when there are a hundred times more. */
export const agentsList: Scenario = {
  name: 'agents-list',
  about: `pages and searches over ${many} agents of one organization, against page 1 and against ${few} agents`,
  async run(say) {
    const folder = mkdtempSync(join(tmpdir(), 'bench-agents-'));
    const stops: (() => Promise<void>)[] = [onEnd(async () => rmSync(folder, { recursive: true, force: true }))];
    try {
      const postgres = await startDurablePostgres();
      stops.push(postgres.stop);
      const redis = await startRedis(folder);
      stops.push(redis.stop);
      const start = async (name: string, count: number): Promise<AgentsService> => {
        const agents = agentsWithMatches(count);
        const service = await startAgentsService({ name, clusterUrl: postgres.url, redisUrl: redis.url, folder, agents });
        stops.push(service.stop);
        return service;
      };
      const [small, large] = [await start('few', few), await start('many', many)];
      say('loaded');
      const figures: Record<string, number> = { many, few, rounds: rounds.measured };
      return { promises: [...(await pages(large, figures)), ...(await searched(small, large, figures))], figures };
    } finally {
      for (const stop of stops.reverse()) await stop();
    }
  },
};

async function startRedis(folder: string): Promise<{ url: string; stop(): Promise<void> }> {
  const spec = await prepareRedis({ folder: join(folder, 'redis'), port: await freePort() });
  const log = join(folder, 'redis.log');
  const life = await beginLife(spec, log);
  const stop = onEnd(() => life.stop());
  await waitUntilReady(spec, life, log, 10_000);
  return { url: spec.url, stop };
}

async function cursorOf(service: AgentsService, limit: number, page: number): Promise<string> {
  let cursor = '';
  for (let at = 1; at < page; at += 1) cursor = (await service.list({ limit, cursor })).nextCursor;
  return cursor;
}

async function pages(service: AgentsService, figures: Record<string, number>): Promise<Promised[]> {
  const promises: Promised[] = [];
  for (const limit of limits) {
    const page = Math.min(1_000, Math.floor(many / limit));
    const cursor = await cursorOf(service, limit, page);
    const [first, far] = await mediansInTurns(
      () => service.list({ limit }),
      () => service.list({ limit, cursor }),
      rounds,
    );
    figures[`page 1 of ${limit}, ms`] = first;
    promises.push({ name: `page ${page} of ${limit} agents, times page 1`, measured: far / first, atMost: 1.5 });
  }
  return promises;
}

async function searched(small: AgentsService, large: AgentsService, figures: Record<string, number>): Promise<Promised[]> {
  const promises: Promised[] = [];
  for (const [name, search] of Object.entries(searches)) {
    for (const service of [small, large]) {
      const { total } = await service.list({ limit: matches }, search);
      if (total !== matches) throw new Error(`${name} found ${total} agents and not ${matches}`);
    }
    const [ofMany, ofFew] = await mediansInTurns(
      () => large.list({ limit: matches }, search),
      () => small.list({ limit: matches }, search),
      rounds,
    );
    figures[`search for ${name}, ms`] = ofMany;
    promises.push({ name: `search for ${name}, times its own time on ${few} agents`, measured: ofMany / ofFew, atMost: 3 });
  }
  return promises;
}
