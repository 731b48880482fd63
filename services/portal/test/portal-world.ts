import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient, operatorService } from '@agent-service/contracts';
import { createProcess } from '@agent-service/runtime';
import { type ReceivedResponse, type SentRequest, type SystemAccess, send, sharedSystem } from '@agent-service/testkit';
import { readPortalConfig } from '../src/config.ts';
import { start } from '../src/start.ts';

export const password = 'correct horse battery';

/** Where the browsers of this file are: identity counts the sign-ins of an address, and all files share one identity. */
const browserAddress = `2001:db8:${randomBytes(2).toString('hex')}:${randomBytes(2).toString('hex')}::1`;

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/** A gateway whose replies a test decides. */
async function scriptedGateway() {
  const requests: IncomingMessage[] = [];
  let answer: Listener = (_request, response) => response.end();
  const server = createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    script: (listener: Listener) => void (answer = listener),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface SignedIn {
  readonly cookie: string;
  readonly csrf: string;
}

const openPortal = (settings: Readonly<Record<string, string>>, timing?: Parameters<typeof start>[2]) =>
  createProcess('portal', readPortalConfig(settings), (process, config) => start(process, config, timing));

/** A portal in this process beside the shared system's identity. Its gateway is scripted, unless settings name another. */
export async function sharePortalWorld() {
  const system: SystemAccess & { leave(): void } = await sharedSystem();
  const gateway = await scriptedGateway();
  const common = {
    HOST: '127.0.0.1',
    PORTAL_PORT: '0',
    OPS_PORT: '0',
    LOG_LEVEL: 'silent',
    IDENTITY_ADDRESS: system.endpoints['identity'] ?? '',
    AGENTS_ADDRESS: system.endpoints['agents'] ?? '',
    SERVICE_SECRET: system.secrets.SERVICE_SECRET,
    GATEWAY_URL: gateway.url,
    TRUSTED_PROXIES: '127.0.0.1',
  };
  const running: Awaited<ReturnType<typeof openPortal>>[] = [];
  const open = async (settings: Readonly<Record<string, string>> = {}, timing?: Parameters<typeof start>[2]) => {
    const portal = await openPortal({ ...common, ...settings }, timing);
    running.push(portal);
    return `http://127.0.0.1:${portal.started}`;
  };
  const config = readPortalConfig(common);
  const operator = createClient('identity', { address: common.IDENTITY_ADDRESS, as: operatorService, config });
  const url = await open();

  return {
    system,
    gateway,
    operator,
    url,
    open,
    settings: common,
    async makeOrganization() {
      const email = `${randomUUID()}@portal.example`;
      const { organizationId, userId } = await operator.createOrganization({ name: 'Portal', email });
      await operator.setUserPassword({ organizationId, userId, password });
      return { organizationId, userId, email };
    },
    /** As a page of the portal sends it. */
    request: (method: string, path: string, { cookie, csrf }: Partial<SignedIn> = {}, body?: object, at = url): Promise<ReceivedResponse> =>
      send(at, fromPage(at, method, path, { cookie, csrf }, body)),
    async signIn(email: string, at = url, secret = password): Promise<SignedIn> {
      const sent = fromPage(at, 'POST', '/api/session', {}, { email, password: secret });
      const reply = await send(at, sent);
      if (reply.status !== 201) throw new Error(`the sign-in answered ${reply.status}: ${reply.text}`);
      return { cookie: cookieOf(reply), csrf: reply.json<{ data: { csrf_token: string } }>().data.csrf_token };
    },
    /** The counted sign-ins of the first portal. */
    signIns: async () => (await running[0]?.metrics.registry.getSingleMetricAsString('portal_sign_ins_total')) ?? '',
    async stop() {
      for (const portal of running) await portal.stop();
      operator.close();
      await gateway.stop();
      system.leave();
    },
  };
}

export type PortalWorld = Awaited<ReturnType<typeof sharePortalWorld>>;

/** The cookie of a reply, as the browser sends it back. */
export const cookieOf = ({ headers }: ReceivedResponse): string => (headers['set-cookie']?.[0] ?? '').split(';', 1)[0] ?? '';

function fromPage(
  at: string,
  method: string,
  path: string,
  { cookie, csrf }: { cookie?: string | undefined; csrf?: string | undefined },
  body?: object,
): SentRequest {
  const headers = {
    origin: at,
    'sec-fetch-site': 'same-origin',
    'x-forwarded-for': browserAddress,
    ...(cookie && { cookie }),
    ...(csrf && { 'x-csrf-token': csrf }),
    ...(body && { 'content-type': 'application/json' }),
  };
  return { method, path, headers, ...(body && { body: JSON.stringify(body) }) };
}

/** The status of a reply, with the code of its error. */
export const outcome = ({ status, text }: { status: number; text: string }) =>
  status < 400 ? `${status}` : `${status} ${(JSON.parse(text) as { error: { code: string } }).error.code}`;
