import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Client, createClient, operatorService, withCall } from '@agent-service/contracts';
import { freePort } from '@agent-service/local/host/ports';
import { beginLife, waitUntilReady } from '@agent-service/local/processes/life';
import { nodeProcess } from '@agent-service/local/processes/spec';
import { createBatcher } from '@agent-service/work';
import type { Pair } from '../pairs.ts';
import { bundleOf } from '../system.ts';

const repository = fileURLToPath(new URL('../../../', import.meta.url));
const secret = 'a-service-secret-for-the-benchmark-alone';
const maxItemsPerCall = 500;
const tenant = { organizationId: 'org_hot', environment: 'live' } as const;

export interface CreditsService {
  pair: Pair;
  /** Pays in the tenant's credits. */
  endow(): Promise<void>;
  stop(): Promise<void>;
}

/** A credits process as it runs in production, and its caller with the batching that agents do. */
export async function startCreditsService(databaseUrl: string, folder: string, summary: string): Promise<CreditsService> {
  const [grpcPort, opsPort] = [await freePort(), await freePort()];
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOST: '127.0.0.1',
    GRPC_PORT: String(grpcPort),
    OPS_PORT: String(opsPort),
    DATABASE_URL: databaseUrl,
    SERVICE_SECRET: secret,
    CURSOR_SECRET: secret,
    IDENTITY_ADDRESS: '127.0.0.1:1',
  };
  const entry = bundleOf('credits');
  const spec = nodeProcess({ name: 'credits', entry, workingFolder: repository, env, opsPort });
  const log = join(folder, 'credits.log');
  const life = await beginLife(spec, log);
  try {
    await waitUntilReady(spec, life, log, 30_000);
  } catch (cause) {
    await life.stop();
    throw cause;
  }
  const connect = (as: string): Client<'credits'> =>
    createClient('credits', { address: `127.0.0.1:${grpcPort}`, as, config: { SERVICE_SECRET: [secret] } });
  const [agents, gateway, operator] = [connect('agents'), connect('gateway'), connect(operatorService)];
  return {
    pair: pairOf(agents, summary),
    async endow() {
      await operator.grant({ tenant, grantId: 'bench', amount: 1_000_000_000_000 });
      const principal = { ...tenant, userId: 'usr_admin', credentialId: 'key', scopes: ['credits:write'], admin: true };
      const call = { requestId: 'bench', principal, expiresAt: performance.now() + 10_000 };
      await withCall(call, () => gateway.setAllocation({ userId: 'usr_hot', monthlyLimit: 2_000_000_000, rolloverEnabled: false }));
    },
    async stop() {
      for (const client of [agents, gateway, operator]) client.close();
      await life.stop();
    },
  };
}

function pairOf(agents: Client<'credits'>, summary: string): Pair {
  const deadlineMs = Date.now() + 3_600_000;
  const holds = createBatcher<string, void>({
    maxItems: maxItemsPerCall,
    run: async (ids) => {
      const { results } = await agents.hold({ items: ids.map((holdId) => ({ tenant, holdId, userId: 'usr_hot', amount: 4, deadlineMs })) });
      return results.map(({ refusal }) => (refusal ? new Error(`a hold was refused: ${refusal.code}`) : undefined));
    },
  });
  const settles = createBatcher<string, void>({
    maxItems: maxItemsPerCall,
    run: async (ids) => {
      const usage = {
        tenant,
        amount: 2,
        agentId: 'agt_hot',
        agentName: 'Sales',
        conversationId: 'conv_hot',
        tier: 'Fast',
        inputTokens: 812,
        outputTokens: 240,
        querySummary: summary,
      };
      const { results } = await agents.settle({ items: ids.map((holdId) => ({ ...usage, holdId })) });
      return results.map(({ refusal }) => (refusal ? new Error(`a settlement was refused: ${refusal.code}`) : undefined));
    },
  });
  return async (id) => {
    await holds.add(id);
    await settles.add(id);
  };
}
