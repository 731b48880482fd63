import { clientSettings, webhooksClientSettings } from '@agent-service/contracts';
import { redisSettings } from '@agent-service/queues';
import { processSettings, readConfig, setting } from '@agent-service/runtime';
import { z } from 'zod';
import { parseTrustedProxies } from './limits/client-address.ts';

const perMinute = (fallback: number) => setting.integer(fallback, 1, 1_000_000);

const trustedProxies = setting
  .list()
  .default([])
  .transform((entries, context) => {
    try {
      return parseTrustedProxies(entries);
    } catch (cause) {
      context.addIssue((cause as Error).message);
      return z.NEVER;
    }
  });

const schema = z.object({
  ...processSettings,
  ...clientSettings,
  PORT: setting.port(8080),
  IDENTITY_ADDRESS: setting.text(),
  CREDITS_ADDRESS: setting.text(),
  AGENTS_ADDRESS: setting.text(),
  TEMPLATES_ADDRESS: setting.text(),
  ...webhooksClientSettings,
  ...redisSettings,
  RATE_LIMIT_READS_PER_MINUTE: perMinute(600),
  RATE_LIMIT_WRITES_PER_MINUTE: perMinute(120),
  RATE_LIMIT_MESSAGES_PER_MINUTE: perMinute(60),
  RATE_LIMIT_END_USER_MESSAGES_PER_MINUTE: perMinute(20),
  RATE_LIMIT_TOKENS_PER_MINUTE: perMinute(30),
  RATE_LIMIT_FAILED_AUTHENTICATIONS_PER_MINUTE: perMinute(300),
  /** How long a request waits for its answer. */
  ANSWER_WAIT_SECONDS: setting.integer(60, 1, 3_600),
  TRUSTED_PROXIES: trustedProxies,
  /** Limit for one address; trusted proxies have none. */
  CONNECTIONS_PER_ADDRESS: setting.integer(5_000, 1, 1_000_000),
  /** The address at which callers reach this API, for the OpenAPI document; relative to the document itself unless set. */
  PUBLIC_URL: setting.url('http:', 'https:').default('/'),
});

export type GatewayConfig = z.output<typeof schema>;

export const readGatewayConfig = (env: NodeJS.ProcessEnv): GatewayConfig => readConfig(schema, env);
