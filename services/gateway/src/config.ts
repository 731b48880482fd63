import { clientSettings, webhooksClientSettings } from '@agent-service/contracts';
import { parseOrigins } from '@agent-service/http/replies/cors';
import { parseTrustedProxies } from '@agent-service/http/requests/client-address';
import { redisSettings } from '@agent-service/queues';
import { processSettings, readConfig, setting } from '@agent-service/runtime';
import { z } from 'zod';

const perMinute = (fallback: number) => setting.integer(fallback, 1, 1_000_000);

export const gatewaySettings = z.object({
  ...processSettings,
  ...clientSettings,
  PORT: setting.port(8080).describe('The port of the public API.'),
  IDENTITY_ADDRESS: setting.text().describe('Address of `identity`.'),
  CREDITS_ADDRESS: setting.text().describe('Address of `credits`.'),
  AGENTS_ADDRESS: setting.text().describe('Address of `agents`.'),
  TEMPLATES_ADDRESS: setting.text().describe('Address of `templates`.'),
  ...webhooksClientSettings,
  ...redisSettings,
  RATE_LIMIT_READS_PER_MINUTE: perMinute(600).describe('GET requests of one credential; five times that of an organization.'),
  RATE_LIMIT_WRITES_PER_MINUTE: perMinute(120).describe('Changes of one credential; five times that of an organization.'),
  RATE_LIMIT_MESSAGES_PER_MINUTE: perMinute(60).describe('Messages of one credential; five times that of an organization.'),
  RATE_LIMIT_END_USER_MESSAGES_PER_MINUTE: perMinute(20).describe(
    "Messages of one end user's token, and apart from them as many cancellations, in place of the key's limits; the organization's limits hold as well.",
  ),
  RATE_LIMIT_TOKENS_PER_MINUTE: perMinute(30).describe(
    'Requests for tokens of one address, and of one address with the credential it claims; tokens issued also of one credential. An IPv6 address counts by its /64.',
  ),
  RATE_LIMIT_FAILED_AUTHENTICATIONS_PER_MINUTE: perMinute(300).describe(
    'Failed authentications of one address with what never was a valid credential; beyond it only credentials that the gateway already knows are let in.',
  ),
  ANSWER_WAIT_SECONDS: setting.integer(60, 1, 3_600).describe("How long a message's caller waits before 504; the work goes on."),
  ANSWER_WAIT_DRAIN_SECONDS: setting
    .integer(8, 0, 3_600)
    .describe(
      'How long requests that wait for an answer go on after SIGTERM; then they get 504 with the id under which the answer can be read.',
    ),
  TRUSTED_PROXIES: setting.parsedList(parseTrustedProxies).describe('Addresses or networks whose `X-Forwarded-For` is believed.'),
  CORS_ORIGINS: setting
    .parsedList(parseOrigins)
    .describe(
      'Origins whose pages may call the API from a browser, as `https://app.example.com,http://localhost:3000`; `*` is refused. Give pages [tokens for one end user](../guides/end-users.md) and never a key.',
    ),
  CONNECTIONS_PER_ADDRESS: setting
    .integer(5_000, 1, 1_000_000)
    .describe('Open connections of one address (of an IPv6 /64) to one gateway; trusted proxies have no limit.'),
  PUBLIC_URL: setting
    .url('http:', 'https:')
    .default('/')
    .describe('The address at which callers reach the public API, for the OpenAPI document and the examples of the portal.'),
});

export type GatewayConfig = z.output<typeof gatewaySettings>;

export const readGatewayConfig = (env: NodeJS.ProcessEnv): GatewayConfig => readConfig(gatewaySettings, env);
