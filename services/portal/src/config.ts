import { clientSettings, openIdConnectSettings } from '@agent-service/contracts';
import { parseTrustedProxies } from '@agent-service/http/requests/client-address';
import { processSettings, readConfig, setting } from '@agent-service/runtime';
import { z } from 'zod';

const isHttp = (value: string) => ['http:', 'https:'].includes(URL.parse(value)?.protocol ?? '');

export const portalSettings = z.object({
  ...processSettings,
  ...clientSettings,
  PORTAL_PORT: setting.port(8081).describe('The port of the portal.'),
  IDENTITY_ADDRESS: setting.text().describe('Address of `identity`.'),
  GATEWAY_URL: setting
    .list()
    .refine((urls) => urls.length > 0 && urls.every(isHttp), 'must be URLs that begin with http:// or https://, separated by commas')
    .describe('For the portal: the addresses of gateways, separated by commas.'),
  PORTAL_URL: setting
    .url('http:', 'https:')
    .optional()
    .describe(
      'The address at which browsers reach the portal; needed behind a proxy. With `https://` its cookie travels over encrypted connections only.',
    ),
  AGENTS_ADDRESS: setting.text().describe('Address of `agents`.'),
  PUBLIC_URL: setting
    .url('http:', 'https:')
    .default('/')
    .describe('The address at which callers reach the public API, for the OpenAPI document and the examples of the portal.'),
  PUBLIC_PORT: setting
    .port(8080)
    .unwrap()
    .optional()
    .describe('The port of the public API on this machine, for the examples of the portal where `PUBLIC_URL` is not set.'),
  PORTAL_PAGES_DIR: setting.text().optional().describe("A folder with pages of your own in place of the portal's."),
  PORTAL_DOCS_DIR: setting.text().optional().describe('A folder with this documentation as a site, as `npm run docs:site` builds it.'),
  ...openIdConnectSettings,
  OPENID_CONNECT_CLIENT_SECRET: setting
    .text()
    .optional()
    .describe('Its secret there. Register `PORTAL_URL` with the path `/api/openid-connect/callback` as its redirect URI.'),
  WEBHOOKS_ENABLED: setting.flag(false).describe('True if webhooks and their events are enabled.'),
  ANSWER_WAIT_SECONDS: setting.integer(60, 1, 3_600).describe("How long a message's caller waits before 504; the work goes on."),
  TRUSTED_PROXIES: setting.parsedList(parseTrustedProxies).describe('Addresses or networks whose `X-Forwarded-For` is believed.'),
  CONNECTIONS_PER_ADDRESS: setting.integer(5_000, 1, 1_000_000).describe('Open connections of one address.'),
});

export type PortalConfig = z.output<typeof portalSettings>;

export const readPortalConfig = (env: NodeJS.ProcessEnv): PortalConfig => readConfig(portalSettings, env);
