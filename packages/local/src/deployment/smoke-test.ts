import { clientSettings, createClient, operatorService } from '@agent-service/contracts';
import { readConfig, setting } from '@agent-service/runtime/config';
import { runTask } from '@agent-service/runtime/run-process';
import { z } from 'zod';
import { LocalError } from '../host/local-error.ts';

const settings = z.object({
  ...clientSettings,
  SERVICE_SECRET: clientSettings.SERVICE_SECRET.unwrap(),
  GATEWAY_URL: setting.url('http:', 'https:'),
  IDENTITY_ADDRESS: setting.text(),
});

const requestLimitMs = 60_000;

/**
 * Sends one message through a deployment and checks that it was answered and charged. It uses the test environment of an organization that it makes
 * for itself, whose keys exist in this process only.
 */
await runTask('smoke-test', async (env) => {
  const config = readConfig(settings, env);
  const identity = createClient('identity', { address: config.IDENTITY_ADDRESS, as: operatorService, config });
  try {
    const { testApiKey } = await identity.createOrganization({ name: 'Smoke test', email: 'smoke-test@agent-service.example' });
    process.stdout.write(`${await sendMessage(createCaller(config.GATEWAY_URL, testApiKey))}\n`);
  } finally {
    identity.close();
  }
});

type Caller = (method: string, path: string, body?: object) => Promise<Record<string, unknown>>;

/** Resolves to the data of a response. */
function createCaller(url: string, key: string): Caller {
  return async (method, path, body) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(requestLimitMs),
    });
    const text = await response.text();
    if (!response.ok) throw new LocalError(`${method} ${path} answered ${response.status}: ${text}`);
    return (JSON.parse(text) as { data: Record<string, unknown> }).data;
  };
}

async function sendMessage(call: Caller): Promise<string> {
  const agent = await call('POST', '/v1/agents', { name: 'Smoke test', system_prompt: 'Answer shortly.', data_scope: { tables: [] } });
  await call('PATCH', `/v1/agents/${agent['id']}`, { status: 'active' });
  const answer = await call('POST', `/v1/agents/${agent['id']}/messages`, { message: 'Are you there?' });
  const balance = await call('GET', '/v1/credits/balance');
  if (!(Number(answer['credits_consumed']) > 0)) throw new LocalError(`The answer ${answer['id']} was not charged.`);
  return `message ${answer['id']} was answered and charged ${answer['credits_consumed']} credits; the balance is ${balance['balance']}`;
}
