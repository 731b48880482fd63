import { randomUUID } from 'node:crypto';
import { clientSettings, createClient, operatorService } from '@agent-service/contracts';
import { readConfig, setting } from '@agent-service/runtime/config';
import { OperatorFault } from '@agent-service/runtime/failures';
import { runTask } from '@agent-service/runtime/run-process';
import { createBackoff, retry } from '@agent-service/work';
import { z } from 'zod';

const settings = z.object({
  ...clientSettings,
  SERVICE_SECRET: clientSettings.SERVICE_SECRET.unwrap(),
  GATEWAY_URL: setting.url('http:', 'https:'),
  IDENTITY_ADDRESS: setting.text(),
});

const requestLimitMs = 60_000;
/** An installation that has just become ready may have a busy node; creating the organization cannot be repeated. */
const createLimitMs = 30_000;

/** Declared before the task below, which uses it while this module is still evaluated. */
class Unavailable extends OperatorFault {}

/**
 * Sends one message through a deployment and checks that it was answered and charged. It uses the test environment of an organization that it makes
 * for itself, whose keys exist in this process only.
 */
await runTask('smoke-test', async (env) => {
  const config = readConfig(settings, env);
  const identity = createClient('identity', { address: config.IDENTITY_ADDRESS, as: operatorService, config });
  try {
    const { testApiKey } = await identity.createOrganization(
      { name: 'Smoke test', email: 'smoke-test@agent-service.example' },
      { timeoutMs: createLimitMs },
    );
    process.stdout.write(`${await sendMessage(createCaller(config.GATEWAY_URL, testApiKey))}\n`);
  } finally {
    identity.close();
  }
});

type Caller = (method: string, path: string, body?: object) => Promise<Record<string, unknown>>;

/** Repeats a request that met a 503 under the same Idempotency-Key, as every caller should, and resolves to the data of the response. */
function createCaller(url: string, key: string): Caller {
  const backoff = createBackoff({ firstMs: 500, maxMs: 5_000 });
  const pauseAfter = (failures: number, cause: unknown) => (cause instanceof Unavailable && failures < 8 ? backoff(failures) : undefined);
  return (method, path, body) => {
    const idempotencyKey = randomUUID();
    return retry(
      async () => {
        const response = await fetch(`${url}${path}`, {
          method,
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
          ...(body && { body: JSON.stringify(body) }),
          signal: AbortSignal.timeout(requestLimitMs),
        });
        const text = await response.text();
        const Failure = response.status === 503 ? Unavailable : OperatorFault;
        if (!response.ok) throw new Failure(`${method} ${path} answered ${response.status}: ${text}`);
        return (JSON.parse(text) as { data: Record<string, unknown> }).data;
      },
      { pauseAfter },
    );
  };
}

async function sendMessage(call: Caller): Promise<string> {
  const agent = await call('POST', '/v1/agents', { name: 'Smoke test', system_prompt: 'Answer shortly.', data_scope: { tables: [] } });
  await call('PATCH', `/v1/agents/${agent['id']}`, { status: 'active' });
  const answer = await call('POST', `/v1/agents/${agent['id']}/messages`, { message: 'Are you there?' });
  const balance = await call('GET', '/v1/credits/balance');
  // The built-in model asks back, which costs nothing; the ledger has a record of it all the same.
  const { length: records } = await call('GET', `/v1/credits/usage?agent_id=${agent['id']}&limit=1`);
  if (records !== 1) throw new OperatorFault(`The answer ${answer['id']} was not settled.`);
  return `message ${answer['id']} was answered and settled for ${answer['credits_consumed']} credits; the balance is ${balance['balance']}`;
}
