// The pages of the portal in Debian's Chromium, over a whole system: npm run test:long -- portal
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createClient, operatorService } from '@agent-service/contracts';
import { freePort } from '@agent-service/local/host/ports';
import { seed } from '@agent-service/local/seed';
import { catalogue } from '@agent-service/local/system/catalogue';
import { readCredentials } from '@agent-service/local/system/secrets';
import type { LocalSystem } from '@agent-service/local/system/system';
import {
  type OpenIdProvider,
  openIdProvider,
  type ReceivedResponse,
  send,
  testDatabase,
  testSystemWithServers,
  withDatabase,
  withoutRateLimits,
} from '@agent-service/testkit';
import { type Browser, type BrowserContext, chromium, type Page, type Request, type Route } from 'playwright-core';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../../', import.meta.url));
const executable = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';

export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of scripts and refusals of the content security policy. */
  readonly problems: string[];
  /** Opens a path, and waits until it has loaded. */
  open(path: string): Promise<void>;
  close(): Promise<void>;
}

interface VisitOptions {
  readonly scheme?: 'light' | 'dark';
  readonly phone?: boolean;
  readonly timeZone?: string;
  readonly signedIn?: boolean;
}

export interface PagesWorld {
  readonly system: LocalSystem;
  readonly url: string;
  readonly login: { readonly email: string; readonly password: string };
  readonly key: string;
  readonly pagesFolder: string;
  readonly provider: OpenIdProvider;
  /** Another organization on the same system, with an administrator. */
  makeOrganization(name: string, administrator: { readonly email: string; readonly password?: string }): Promise<void>;
  visit(options?: VisitOptions): Promise<Visit>;
  call(method: string, path: string, body?: object, key?: string): Promise<ReceivedResponse>;
  stop(): Promise<void>;
}

/** Builds the pages, and starts a system as `npm start` makes it, with a browser. */
export async function startPages(): Promise<PagesWorld> {
  if (!existsSync(executable)) throw new Error(`There is no ${executable}: install Chromium, or set CHROMIUM_PATH.`);
  const { stdout } = await run(process.execPath, [join(root, 'scripts/build/web.mjs')], { cwd: root });
  const pagesFolder = stdout.trim().split('\n').at(-1) ?? '';
  const [provider, portalPort] = [await openIdProvider(), String(await freePort())];
  const settings = {
    ...withoutRateLimits,
    WEBHOOKS_ENABLED: 'true',
    PORTAL_PAGES_DIR: pagesFolder,
    PORTAL_PORT: portalPort,
    PORTAL_URL: `http://127.0.0.1:${portalPort}`,
    OPENID_CONNECT_ISSUER: provider.issuer,
    OPENID_CONNECT_CLIENT_ID: provider.clientId,
    OPENID_CONNECT_CLIENT_SECRET: provider.clientSecret,
  };
  const system = await testSystemWithServers(settings, { seed, catalogue });
  const credentials = readCredentials(join(system.dataDir, 'credentials.json'));
  const { portalUrl: url } = system;
  if (!credentials?.portal_login || !url) throw new Error('the start left no login to the portal');
  const browser = await chromium.launch({ executablePath: executable, args: ['--no-sandbox', '--disable-gpu'] });
  const login = credentials.portal_login;
  const key = credentials.api_keys.live;
  let state: Awaited<ReturnType<BrowserContext['storageState']>> | undefined;
  const visit = async (options: VisitOptions = {}) => {
    const isSignedIn = options.signedIn !== false;
    if (isSignedIn && !state) state = await signInOnce(browser, url, login);
    return await openVisit(browser, url, options, isSignedIn ? state : undefined);
  };
  const call: PagesWorld['call'] = (method, path, body, token = key) =>
    send(system.url, {
      method,
      path,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
  const makeOrganization: PagesWorld['makeOrganization'] = async (name, { email, password }) => {
    const address = system.endpoints['identity'] ?? '';
    const operator = createClient('identity', {
      address,
      as: operatorService,
      config: { SERVICE_SECRET: [system.secrets.SERVICE_SECRET] },
    });
    const { organizationId, userId } = await operator.createOrganization({ name, email });
    if (password) await operator.setUserPassword({ organizationId, userId, password });
    operator.close();
  };
  const stop = async () => {
    await browser.close();
    await system.stop();
    await provider.stop();
  };
  return { system, url, login, key, pagesFolder, provider, makeOrganization, visit, call, stop };
}

async function signInOnce(browser: Browser, url: string, login: PagesWorld['login']) {
  const visit = await openVisit(browser, url, {}, undefined);
  await visit.open('/sign-in');
  await signIn(visit.page, login);
  const state = await visit.context.storageState();
  await visit.close();
  return state;
}

export async function signIn(page: Page, { email, password }: PagesWorld['login']): Promise<void> {
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: /Welcome/ }).waitFor();
}

const memberPassword = 'a password of a member';
let people = 0;

/** A member of the organization, who has accepted an invitation. */
export async function makePerson({ url, login }: PagesWorld, name: string): Promise<PagesWorld['login']> {
  const request = async (method: string, path: string, body: object, headers: object = {}) => {
    const options = { method, headers: { origin: url, 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
    const reply = await fetch(`${url}${path}`, options);
    if (!reply.ok) throw new Error(`${method} ${path} answered ${reply.status}: ${await reply.text()}`);
    return { cookie: (reply.headers.get('set-cookie') ?? '').split(';')[0], data: ((await reply.json()) as { data: never }).data };
  };
  const { cookie, data } = await request('POST', '/api/session', login);
  const email = `person-${++people}@demonstration.example`;
  const headers = { cookie, 'x-csrf-token': (data as { csrf_token: string }).csrf_token };
  const invitation = (await request('POST', '/api/invitations', { email, name, role: 'member' }, headers)).data as { link: string };
  const token = new URL(invitation.link).searchParams.get('token');
  await request('POST', '/api/invitations/accept', { token, name, password: memberPassword });
  return { email, password: memberPassword };
}

export const desktop = { width: 1280, height: 800 };
export const onPhone = { width: 390, height: 844 };

async function openVisit(
  browser: Browser,
  url: string,
  { scheme = 'light', phone = false, timeZone = 'UTC' }: VisitOptions,
  state: Awaited<ReturnType<BrowserContext['storageState']>> | undefined,
): Promise<Visit> {
  const context = await browser.newContext({
    baseURL: url,
    colorScheme: scheme,
    viewport: phone ? onPhone : desktop,
    hasTouch: phone,
    locale: 'en-GB',
    timezoneId: timeZone,
    reducedMotion: 'reduce',
    ...(state && { storageState: state }),
  });
  context.setDefaultTimeout(actionMs);
  const page = await context.newPage();
  trafficOf.set(page, new Traffic(page));
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    // A refused request is logged by the browser as well; the pages handle it.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) problems.push(message.text());
  });
  const open = async (path: string) => {
    await page.goto(path);
    await settle(page);
  };
  const close = async () => {
    // Requests that are still under way are of no interest to a test that has ended.
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await context.close();
  };
  return { page, context, problems, open, close };
}

/** For one click or wait, on a machine that is busy with other work. */
const actionMs = 60_000;
/** For one test with some dozens of them. */
export const testMs = 300_000;

const loading = '.skeleton, .spinner, .chart-pending[aria-hidden]';

interface PageGlobals {
  quiet?: number;
  document: { querySelectorAll(selector: string): { length: number } };
}

/** Frames of the browser, which come later on a busy machine, in which a page that still has to ask for something asks for it. */
const quietFrames = 8;

/** Waits until nothing loads: no request is under way, nothing stands for what is to come, and some frames bring no new request. */
export async function settle(page: Page): Promise<void> {
  const traffic = trafficOf.get(page);
  if (!traffic) throw new Error('the page was not opened by a visit');
  await page.locator('h1, h2').first().waitFor();
  for (let before = -1; before !== traffic.requests; ) {
    await traffic.idle();
    before = traffic.requests;
    // A text would be evaluated in the page, which its policy refuses.
    await page.waitForFunction(
      ([selector, frames]) => {
        const globals = globalThis as unknown as PageGlobals;
        globals.quiet = globals.document.querySelectorAll(selector).length === 0 ? (globals.quiet ?? 0) + 1 : 0;
        if (globals.quiet <= frames) return false;
        globals.quiet = 0;
        return true;
      },
      [loading, quietFrames] as const,
    );
  }
}

/** The requests of a page, without its streams. */
class Traffic {
  readonly #open = new Set<Request>();
  readonly #waiting = new Set<() => void>();
  requests = 0;

  constructor(page: Page) {
    page.on('request', (request) => {
      if (request.headers()['accept'] === 'text/event-stream') return;
      this.requests += 1;
      this.#open.add(request);
    });
    const end = (request: Request) => {
      this.#open.delete(request);
      if (this.#open.size > 0) return;
      for (const resolve of this.#waiting) resolve();
      this.#waiting.clear();
    };
    page.on('requestfinished', end).on('requestfailed', end);
  }

  async idle(): Promise<void> {
    while (this.#open.size > 0) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }
}

const trafficOf = new WeakMap<Page, Traffic>();

/** The agent of a template, which may be active already. */
async function activate(world: PagesWorld, template: string): Promise<string> {
  const { data, error } = (await world.call('POST', `/v1/templates/${template}/activate`, {})).json<{
    data?: { agent_id: string };
    error?: { details: { agent_id: string } };
  }>();
  return (data ?? error?.details)?.agent_id ?? '';
}

/** The pages of an administrator, with the ids of things that exist. */
export async function preparePaths(world: PagesWorld): Promise<Record<string, string>> {
  const read = async (...request: Parameters<PagesWorld['call']>) => JSON.parse((await world.call(...request)).text).data;
  const agent = await activate(world, 'tpl_customer_insights');
  const { conversation_id: conversation } = await read('POST', `/v1/agents/${agent}/messages`, {
    message: 'How many customers do we have by segment?',
  });
  await read('PATCH', `/v1/agents/${agent}/conversations/${conversation}`, { title: 'Customers by segment' });
  await activate(world, 'tpl_sales_performance');
  await read('POST', '/v1/keys', { name: 'Reporting', scopes: ['agents:read', 'agents:chat'] });
  await read('POST', '/v1/oauth-applications', { name: 'Web shop', scopes: ['agents:chat'] });
  await read('POST', '/v1/users', { name: 'Grace Hopper', email: 'grace@demonstration.example' });
  await read('POST', '/v1/webhooks', { url: 'https://hooks.example.com/agent-service', events: ['agent.created'] });
  const [{ id: webhook }] = await read('GET', '/v1/webhooks');
  return {
    home: '/live',
    agents: '/live/agents',
    'agent-new': '/live/agents/new',
    agent: `/live/agents/${agent}`,
    'agent-data': `/live/agents/${agent}?tab=data`,
    'agent-api': `/live/agents/${agent}?tab=api`,
    'agent-edit': `/live/agents/${agent}/edit`,
    'chat-start': '/live/chat',
    'chat-new': `/live/chat/${agent}`,
    chat: `/live/chat/${agent}/${conversation}`,
    templates: '/live/templates',
    template: '/live/templates/tpl_customer_insights',
    credits: '/live/credits',
    allocations: '/live/credits?tab=allocations',
    keys: '/live/keys',
    applications: '/live/applications',
    webhooks: '/live/webhooks',
    webhook: `/live/webhooks/${webhook}`,
    'data-source': '/live/data-source',
    users: '/live/users',
    audit: '/live/audit',
    settings: '/live/settings',
    test: '/test/agents',
  };
}

const preparedPaths = new WeakMap<PagesWorld, Promise<Record<string, string>>>();

/** The same paths for all tests that change nothing of what they show. */
export function sharedPaths(world: PagesWorld): Promise<Record<string, string>> {
  const paths = preparedPaths.get(world) ?? preparePaths(world);
  preparedPaths.set(world, paths);
  return paths;
}

export interface BusinessDatabase {
  /** The values of the portal's form that connects it, by their labels. */
  readonly fields: Readonly<Record<'Host' | 'Port' | 'Database' | 'User' | 'Password', string>>;
  drop(): Promise<void>;
}

/** A database with a table of parcels, which its account can read. */
export async function businessDatabase(): Promise<BusinessDatabase> {
  const { url, drop } = await testDatabase();
  const { hostname, port, pathname } = new URL(url);
  const [database, password] = [pathname.slice(1), 'a-word-that-no-page-shows'];
  const user = `${database}_reader`;
  await withDatabase(url, async (client) => {
    await client.query(`create role "${user}" login password '${password}'`);
    await client.query(`create table parcels (id integer primary key, weight numeric, secret text); grant select on parcels to "${user}"`);
  });
  return { fields: { Host: hostname, Port: port, Database: database, User: user, Password: password }, drop };
}

export const api = /\/api\/(live|test)\/v1\//;

export type Json = Record<string, unknown>;
interface List {
  data: Json[];
  meta: Json;
}

export const isList = (body: unknown): body is List => Array.isArray((body as Json)['data']);

/** The API has no way to read one webhook but the list, which its page reads in larger pages. */
export const isReadOfOneWebhook = ({ pathname, searchParams }: URL): boolean =>
  pathname.endsWith('/v1/webhooks') && searchParams.get('limit') === '100';

/** Answers each read of the API with a changed copy of the service's reply. */
export async function rewrite(page: Page, change: (body: Json, url: URL) => unknown, paths = api): Promise<void> {
  await page.route(paths, async (route: Route) => {
    if (route.request().method() !== 'GET') return await route.continue();
    const url = new URL(route.request().url());
    const upstream = new URL(url);
    // The cursors of the changed replies mean nothing to the service.
    upstream.searchParams.delete('cursor');
    const response = await route.fetch({ url: upstream.href });
    const body = (await response.json()) as Json;
    return await route.fulfill({ response, json: change(body, url) });
  });
}

/** How far the parts of the page have moved by themselves since it was opened (Cumulative Layout Shift). */
export const layoutShift = (page: Page): Promise<number> =>
  page.evaluate<number>(`new Promise((resolve) => {
    let sum = 0;
    const add = (entries) => { for (const entry of entries) if (!entry.hadRecentInput) sum += entry.value; };
    const observer = new PerformanceObserver((list) => add(list.getEntries()));
    observer.observe({ type: 'layout-shift', buffered: true });
    requestAnimationFrame(() => setTimeout(() => { add(observer.takeRecords()); resolve(sum); }));
  })`);

export const publicPaths = {
  'sign-in': '/sign-in',
  'choose-organization': '/choose-organization',
  invitation: '/invitation?token=unknown',
  'password-reset': '/password-reset?token=unknown',
};
