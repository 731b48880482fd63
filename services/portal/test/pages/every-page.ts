import { formatTableScope, parseTableScope } from '@agent-service/contracts/agents/data-scope';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { violations, violationsInThemes } from './accessibility.ts';
import { onEachPage, visitsOfEachTest } from './each-page.ts';
import {
  api,
  desktop,
  isList,
  isReadOfOneWebhook,
  type Json,
  layoutShift,
  makePerson,
  onPhone,
  type PagesWorld,
  publicPaths,
  rewrite,
  sharedPaths,
  signIn,
  type Visit,
} from './world.ts';

const everyPageMs = 300_000;
/** Everything that a page reads but the session itself. */
const reads = /\/api\/(live|test|invitations|sessions)(\/|$)/;
/** Web Vitals call a tenth good. */
const mostShift = 0.05;

/** The pixels by which the page is wider than its window. */
const overflow = (page: Page) => page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');

/** Texts that are cut without their whole as a title, or stand in the direction of another language. */
const unreadable = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`(() => {
    const faults = [];
    const isShown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && element.getBoundingClientRect().width > 1;
    for (const text of document.querySelectorAll('.truncate')) {
      if (!isShown(text) || text.scrollWidth <= text.clientWidth) continue;
      text.dispatchEvent(new PointerEvent('pointerover', { bubbles: true }));
      if (!text.closest('[title]:not([title=""])')) faults.push('cut without a title: ' + text.className);
    }
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!/^[\\s"]*[\\u0590-\\u06ff]/.test(walker.currentNode.data) || !isShown(element)) continue;
      const { direction, unicodeBidi } = getComputedStyle(element);
      if (direction !== 'rtl' && unicodeBidi !== 'plaintext') faults.push('from left to right: ' + element.tagName + '.' + element.className);
    }
    return [...new Set(faults)];
  })()`);

/** On a phone the navigation is behind a button. */
async function openDrawer(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('dialog').waitFor();
}

/** Shows what a page keeps folded: the columns of tables, the queries behind answers. */
const unfold = (page: Page) =>
  page.evaluate<void>(`(() => {
    for (const details of document.querySelectorAll('main details')) details.open = true;
    for (const table of document.querySelectorAll('.picker-name[aria-expanded="false"]')) table.click();
  })()`);

const texts = ['name', 'email', 'description', 'title', 'category', 'comment', 'query_summary', 'welcome_message', 'suggested_prompts'];
/** The session and the invitations besides: they have names and addresses of people. */
const named = new RegExp(`${api.source}|/api/(session|invitations)$`);

/** The reply with long texts. Names of tables and columns begin with `start`, as in the data source. */
function lengthen(value: unknown, long: string, start: string): unknown {
  if (Array.isArray(value)) return value.map((one) => lengthen(one, long, start));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (key === 'url' && typeof inner === 'string') return [key, `https://hooks.example.com/${long}`];
      if (texts.includes(key) && typeof inner === 'string') return [key, long];
      if (texts.includes(key) && Array.isArray(inner)) return [key, inner.map((_, index) => `${long} ${index}`)];
      const tables: unknown = key === 'data_scope' && inner.tables;
      if (!Array.isArray(tables)) return [key, lengthen(inner, long, start)];
      return [key, { ...inner, tables: tables.map((entry: string) => lengthenEntry(entry, start)) }];
    }),
  );
}

/** PostgreSQL cuts longer names. */
const maxNameBytes = 63;

function lengthenName(name: string, start: string): string {
  const longer = start + name;
  return Buffer.byteLength(longer) > maxNameBytes ? name : longer;
}

function lengthenEntry(entry: string, start: string): string {
  const parsed = parseTableScope(entry);
  if (!parsed) throw new Error(`${entry} is no entry of a scope`);
  const columns = parsed.columns?.map((name) => lengthenName(name, start)) ?? null;
  return formatTableScope({ ...parsed, table: lengthenName(parsed.table, start), columns });
}

function lengthenSource(body: Json, long: string, start: string): Json {
  const source = body['data'] as { tables: { name: string; columns: { name: string }[] }[] };
  const comment = long.slice(0, 500);
  const tables = source.tables.map(({ name, columns, ...table }) => ({
    ...table,
    comment,
    name: lengthenEntry(name, start),
    columns: columns.map((column) => ({ ...column, comment, name: lengthenName(column.name, start) })),
  }));
  return { ...body, data: { ...source, tables } };
}

/** The faults of a page that has loaded. */
async function faultsOf(page: Page): Promise<string[]> {
  const shift = await layoutShift(page);
  const pixels = await overflow(page);
  const faults = await violationsInThemes(page);
  if (shift > mostShift) faults.push(`its parts moved by ${shift}`);
  if (pixels > 0) faults.push(`${pixels} pixels wider than the window`);
  return faults;
}

/** A secret that is shown once is closed by its button only. */
async function closeDialog(page: Page): Promise<void> {
  const done = page.getByRole('dialog').getByRole('button', { name: 'Done' });
  await ((await done.count()) > 0 ? done.click() : page.keyboard.press('Escape'));
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

export const testEveryPage = (started: () => PagesWorld) =>
  describe('every page', () => {
    let world: PagesWorld;
    let paths: Record<string, string>;
    const visitAs = visitsOfEachTest(() => world);
    beforeAll(async () => {
      world = started();
      paths = await sharedPaths(world);
    }, everyPageMs);

    test.each([false, true])(
      'has no violation of WCAG 2.2 AA, light and dark, on a phone: %s',
      async (phone) => {
        const check = async ({ page, open: go }: Visit, path: string) => {
          await go(path);
          return await faultsOf(page);
        };
        const findings = [
          ...(await onEachPage({ ...paths, missing: '/live/unknown' }, () => visitAs({ phone }), check)),
          ...(await onEachPage(publicPaths, () => visitAs({ phone, signedIn: false }), check)),
        ];
        if (phone) {
          const { page, open: go } = await visitAs({ phone });
          await go('/live');
          await openDrawer(page);
          findings.push(...(await violationsInThemes(page)).map((line) => `menu: ${line}`));
        }
        expect(findings).toEqual([]);
      },
      everyPageMs,
    );

    test(
      'dialogs and menus have no violation',
      async () => {
        const { page, open: go } = await visitAs({});
        const findings: string[] = [];
        const openers: [string, string][] = [
          ['/live/keys', 'Create a key'],
          ['/live/applications', 'Register an application'],
          ['/live/webhooks', 'Add a webhook'],
          ['/live/users', 'Invite a user'],
          ['/live/data-source', 'Replace'],
          ['/live/data-source', 'Disconnect'],
          ['/live/credits', 'Credit settings'],
          [paths['template'] ?? '', 'Duplicate'],
          [paths['template'] ?? '', 'Deactivate'],
          ['/live/credits?tab=allocations', 'Allocate credits to'],
          ['/live/settings', 'Set up'],
        ];
        for (const [path, name] of openers) {
          await go(path);
          await page.getByRole('button', { name }).first().click();
          await page.getByRole('dialog').waitFor();
          findings.push(...(await violationsInThemes(page)).map((line) => `${name}: ${line}`));
        }
        expect(findings).toEqual([]);
      },
      everyPageMs,
    );

    test(
      'menus and their dialogs have no violation',
      async () => {
        const { page, open: go } = await visitAs({});
        const findings: string[] = [];
        const menus: [string, RegExp, string[]][] = [
          ['/live/agents', /^Actions of/, ['Delete']],
          ['/live/keys', /^Actions of Reporting/, ['Edit', 'Replace', 'Revoke']],
          ['/live/applications', /^Actions of/, ['Edit', 'Replace the secret', 'Revoke']],
          ['/live/users', /^Actions of Grace/, ['Edit', 'Deactivate', 'Link to set a password']],
          [paths['webhook'] ?? '', /^Actions of the webhook/, ['Edit', 'Replace the secret', 'Delete']],
          [paths['chat'] ?? '', /^Actions of Customers by segment/, ['Rename', 'Delete']],
        ];
        for (const [path, opener, items] of menus) {
          await go(path);
          for (const item of items) {
            await page.getByRole('button', { name: opener }).first().click();
            await page.getByRole('menu').waitFor();
            if (item === items[0]) findings.push(...(await violationsInThemes(page)).map((line) => `${path}, its menu: ${line}`));
            await page.getByRole('menuitem', { name: item, exact: true }).click();
            await page.getByRole('dialog').waitFor();
            findings.push(...(await violationsInThemes(page)).map((line) => `${path}, ${item}: ${line}`));
            await closeDialog(page);
          }
        }
        await go('/live');
        await page.getByRole('button', { name: /^Administrator/ }).click();
        await page.getByRole('menu').waitFor();
        findings.push(...(await violationsInThemes(page)));
        await page.keyboard.press('Escape');
        await page.keyboard.press('Control+k');
        await page.getByRole('dialog').waitFor();
        findings.push(...(await violationsInThemes(page)));
        expect(findings).toEqual([]);
      },
      everyPageMs,
    );

    test(
      'the pages of a member have no violation',
      async () => {
        const { page, open: go, problems } = await visitAs({ signedIn: false });
        await go('/sign-in');
        await signIn(page, await makePerson(world, 'A Member'));
        const findings: string[] = [];
        for (const name of [
          'home',
          'agents',
          'agent',
          'agent-data',
          'chat-start',
          'chat-new',
          'templates',
          'template',
          'credits',
          'settings',
          'keys',
        ]) {
          await go(paths[name] ?? '');
          findings.push(...(await violations(page)).map((line) => `${name}: ${line}`));
        }
        expect([...findings, ...problems]).toEqual([]);
      },
      everyPageMs,
    );

    test(
      'says why when the API fails, and recovers',
      async () => {
        const refusal = {
          error: { type: 'internal', code: 'internal', message: 'The service failed.', param: null, details: {} },
          meta: { request_id: 'req-1' },
        };
        const session = /\/api\/session$/;
        // One part of a page fails as well, and the others do not hide it.
        const parts: Readonly<Record<string, [string, RegExp]>> = {
          connection: ['/live/data-source', /\/api\/live\/data-source$/],
          tables: ['/live/data-source', /\/v1\/data-source/],
          invitations: ['/live/users', /\/api\/invitations$/],
          sessions: ['/live/settings', /\/api\/sessions$/],
          session: ['/live/agents', session],
          'sign-in': ['/sign-in?return_to=/live/agents', session],
          deliveries: [paths['webhook'] ?? '', /\/deliveries/],
        };
        const pathsOfParts = Object.fromEntries(Object.entries(parts).map(([name, [path]]) => [name, path]));
        const check = async ({ page, problems }: Visit, path: string, name: string) => {
          const failing = parts[name]?.[1] ?? reads;
          await page.route(failing, (route) => route.fulfill({ status: 500, json: refusal }));
          await page.goto(path);
          const isSaid = page.getByText('The service failed.').first().waitFor({ timeout: 20_000 });
          const findings = await isSaid.then(
            () => violations(page),
            () => ['says nothing'],
          );
          await page.unroute(failing);
          // A page without the session has nothing but its failure, and recovers as a whole.
          if (failing === session) {
            await page.getByRole('button', { name: 'Try again' }).click();
            await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
            // React reports an error that a page shows.
            problems.splice(0, problems.length, ...problems.filter((line) => !line.startsWith('ApiError: The service failed.')));
          }
          return findings;
        };
        expect(await onEachPage({ ...paths, ...pathsOfParts }, () => visitAs({}), check)).toEqual([]);
        const visit = await visitAs({});
        const { page } = visit;
        await page.route(api, (route) => route.fulfill({ status: 500, json: refusal }));
        await page.goto('/live/keys');
        await page.getByText('The service failed.').waitFor();
        await page.unroute(api);
        await page.getByRole('button', { name: 'Try again' }).click();
        await page.getByText('Reporting').first().waitFor();
        expect(visit.problems).toEqual([]);
      },
      everyPageMs,
    );

    test(
      'teaches in an empty organization',
      async () => {
        const visitEmpty = async () => {
          const visit = await visitAs({});
          await rewrite(visit.page, (body, url) => {
            if (isReadOfOneWebhook(url)) return body;
            if (isList(body)) return { data: [], meta: { ...body.meta, total: 0, next_cursor: null, total_credits: 0, total_queries: 0 } };
            if (url.pathname.endsWith('/data-source')) return { ...body, data: { ...(body['data'] as Json), status: 'none', tables: [] } };
            return body;
          });
          await visit.page.route(/\/api\/live\/data-source$/, (route) => route.fulfill({ json: { data: { data_source: null } } }));
          return visit;
        };
        // Pages of one thing that exists show it, without what would be listed there.
        const ofOneThing = ['agent', 'agent-data', 'agent-api', 'agent-edit', 'chat', 'chat-new', 'template', 'settings'];
        const failed = async (page: Page) => ((await page.locator('.empty[role=alert]').count()) > 0 ? ['fails'] : []);
        const check = async ({ page, open: go }: Visit, path: string, name: string) => {
          await go(path);
          if (ofOneThing.includes(name)) return await failed(page);
          const findings = [...(await violations(page)), ...(await failed(page))];
          const teaches = page.locator('.empty p, .chart-pending p, .conversation-note, .first-steps, main .hint, main .notice');
          if ((await teaches.count()) === 0) findings.push('is silent');
          if ((await page.locator('.empty:not(:has(p))').count()) > 0) findings.push('has a heading without a sentence');
          return findings;
        };
        expect(await onEachPage(paths, visitEmpty, check)).toEqual([]);
      },
      everyPageMs,
    );

    test.each([
      ['very long names', 'Reconciliation'.repeat(40), `${'reconciliation'.repeat(3)}_`],
      ['right-to-left text', `${'تقرير المبيعات الشهرية '.repeat(12)}שלום`, 'تقرير المبيعات '],
    ])(
      'holds %s',
      async (_, long, start) => {
        const connection = { connected_by: 'user', port: 5432, tls: 'verify', updated_at: new Date().toISOString() };
        const name = `${start}erp`;
        const visitLong = async () => {
          const visit = await visitAs({});
          await rewrite(
            visit.page,
            (body, url) => (url.pathname.endsWith('/data-source') ? lengthenSource(body, long, start) : lengthen(body, long, start)),
            named,
          );
          await visit.page.route(/\/api\/live\/data-source$/, (route) =>
            route.fulfill({ json: { data: { data_source: { ...connection, host: `${name}.example`, database: name, user: name } } } }),
          );
          return visit;
        };
        const openers: Record<string, (page: Page) => Promise<void>> = {
          disconnect: async (page) => {
            await page.getByRole('button', { name: 'Disconnect' }).click();
            await page.getByRole('dialog').getByText(name).waitFor();
          },
          delete: async (page) => {
            await page
              .getByRole('button', { name: /^Actions of/ })
              .first()
              .click();
            await page.getByRole('menuitem', { name: 'Delete', exact: true }).click();
            await page.getByRole('dialog').getByText(long.slice(0, 40)).waitFor();
          },
          drawer: async (page) => {
            await page.setViewportSize(onPhone);
            await openDrawer(page);
          },
        };
        const check = async ({ page, open: go }: Visit, path: string, of: string) => {
          await page.setViewportSize(desktop);
          await go(path);
          await (openers[of] ?? unfold)(page);
          const findings: string[] = [];
          for (const size of [desktop, onPhone]) {
            await page.setViewportSize(size);
            const pixels = await overflow(page);
            if (pixels > 0) findings.push(`${size.width} wide: ${pixels} pixels`);
            findings.push(...(await unreadable(page)).map((line) => `${size.width} wide: ${line}`));
          }
          return findings;
        };
        expect(
          await onEachPage({ ...paths, disconnect: '/live/data-source', delete: '/live/agents', drawer: '/live' }, visitLong, check),
        ).toEqual([]);
      },
      everyPageMs,
    );
  });
