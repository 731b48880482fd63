import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Client, createClient, withCall } from '@agent-service/contracts';
import { testCertificate } from '@agent-service/testkit/http/certificate';
import { startChild } from '../child.ts';
import { startDurablePostgres } from '../durable-postgres.ts';
import { secret, startWebhookProcesses } from './processes.ts';

const fastTenants = 90;
const hangingTenants = 10;
/** As many as a relay takes at once. */
const maxEventsPerCall = 200;
/** Events that were sent to the service and are not delivered yet. */
const maxOutstanding = 1_500;
const floorAtOnce = 256;

interface Counts {
  fast: number;
  hanging: number;
  latenciesMs: number[];
}

interface Drive {
  seconds: number;
  /** Events also go to receivers that hang, one in ten. */
  hanging: boolean;
  /** Events a second to the fast ones; without it as many as are taken. */
  rate?: number;
}

export interface WebhookWorld {
  /** Posts a second of the bare loop. */
  floor(seconds: number): Promise<number>;
  /** Deliveries a second to fast receivers, and how long each took from the sending of its event, in milliseconds. */
  drive(options: Drive): Promise<{ rate: number; latenciesMs: number[] }>;
  stop(): Promise<void>;
}

/** Tenants with one endpoint each, nine in ten at receivers that answer at once. */
export async function startWebhookWorld(): Promise<WebhookWorld> {
  const { key, cert } = testCertificate();
  const receivers = await startChild('webhooks/receivers.ts', { RECEIVER_KEY: key, RECEIVER_CERT: cert });
  const url = `https://127.0.0.1:${receivers.port}`;
  const postgres = await startDurablePostgres();
  const processes = await startWebhookProcesses({ databaseUrl: postgres.url, folder: postgres.folder, certificate: cert });
  const client = (as: string) => createClient('webhooks', { address: processes.address, as, config: { SERVICE_SECRET: [secret] } });
  const [gateway, credits] = [client('gateway'), client('credits')];
  await createEndpoints(gateway, url);
  const loop = await startLoop(url, cert);
  const counts = countsOf(url, cert);
  let events = 0;

  const eventsFor = (kind: 'fast' | 'hang', tenants: number, count: number) =>
    Array.from({ length: count }, () => {
      events += 1;
      const dataJson = JSON.stringify({ balance: 0, sent_at: Date.now() });
      const organizationId = `org_${kind}_${events % tenants}`;
      return {
        id: `evt_${String(events).padStart(12, '0')}`,
        type: 'credits.depleted',
        organizationId,
        environment: 'live',
        createdAt: new Date().toISOString(),
        dataJson,
      };
    });

  async function drive({ seconds, hanging, rate }: Drive): Promise<{ rate: number; latenciesMs: number[] }> {
    const before = await counts();
    const begin = performance.now();
    const latenciesMs: number[] = [];
    let [sent, done] = [0, 0];
    while (performance.now() - begin < seconds * 1_000) {
      const allowed = rate === undefined ? maxOutstanding - (sent - done) : (rate * (performance.now() - begin)) / 1_000 - sent;
      if (allowed >= maxEventsPerCall || (rate !== undefined && allowed >= 1)) {
        const count = Math.min(maxEventsPerCall, Math.floor(allowed));
        const slow = hanging ? eventsFor('hang', hangingTenants, Math.ceil(count / 9)) : [];
        await credits.receiveEvents({ events: [...eventsFor('fast', fastTenants, count), ...slow] });
        sent += count;
      } else await pause(10);
      const now = await counts();
      latenciesMs.push(...now.latenciesMs);
      done = now.fast - before.fast;
    }
    const measured = { rate: done / ((performance.now() - begin) / 1_000), latenciesMs };
    await untilDelivered(counts, before.fast + sent);
    return measured;
  }

  return {
    floor: (seconds) => floorOf(loop, seconds),
    drive,
    async stop() {
      loop.disconnect();
      gateway.close();
      credits.close();
      await processes.stop();
      await postgres.stop();
      await receivers.stop();
    },
  };
}

async function createEndpoints(gateway: Client<'webhooks'>, url: string): Promise<void> {
  const create = async (organizationId: string, path: string) => {
    const principal = {
      organizationId,
      environment: 'live',
      userId: 'usr_1',
      credentialId: 'key',
      scopes: ['webhooks:write'],
      admin: true,
    } as const;
    const endpoint = { url: `${url}/${path}`, events: ['credits.depleted'], active: true };
    await withCall({ requestId: 'bench', principal, expiresAt: performance.now() + 10_000 }, () => gateway.createEndpoint(endpoint));
  };
  for (let index = 0; index < fastTenants; index += 1) await create(`org_fast_${index}`, `fast/${index}`);
  for (let index = 0; index < hangingTenants; index += 1) await create(`org_hang_${index}`, `hang/${index}`);
}

async function startLoop(url: string, cert: string): Promise<ChildProcess> {
  const file = fileURLToPath(new URL('./post-loop.ts', import.meta.url));
  const child = fork(file, { env: { ...process.env, RECEIVER_URL: url, RECEIVER_CERT: cert, AT_ONCE: String(floorAtOnce) } });
  await once(child, 'message');
  return child;
}

async function floorOf(loop: ChildProcess, seconds: number): Promise<number> {
  loop.send({ seconds });
  const [{ rate }] = (await once(loop, 'message')) as [{ rate: number }];
  return rate;
}

function countsOf(url: string, ca: string): () => Promise<Counts> {
  const agent = new Agent({ ca, keepAlive: true });
  return () =>
    new Promise((resolve, reject) => {
      const call = request(`${url}/counts`, { agent }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve(JSON.parse(Buffer.concat(chunks).toString()) as Counts));
      });
      call.on('error', reject).end();
    });
}

/** Waits until every event is delivered, so that the next measurement begins without outstanding ones. */
async function untilDelivered(counts: () => Promise<Counts>, fast: number): Promise<void> {
  const end = performance.now() + 60_000;
  while ((await counts()).fast < fast) {
    if (performance.now() > end) throw new Error('deliveries were lost, or stand still');
    await pause(50);
  }
}
