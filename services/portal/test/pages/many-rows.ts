import { until } from '@agent-service/testkit';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { expectQuick } from './measures.ts';
import { isList, isReadOfOneWebhook, type Json, type PagesWorld, rewrite, settle, sharedPaths, type Visit } from './world.ts';

const total = 10_000;
/** As many as the API lists. */
const maxTables = 5_000;
/** An agent has no more. */
const mostEntries = 200;
const measuredTimes = 3;
/** Fewer than one for each row. A list of tables shows 200 of them, with their columns. */
const mostElements = 9_000;

/** Answers each list that has a row with as many rows as this: the rows that there are, again and again. */
const multiply = (page: Page, count: number) =>
  rewrite(page, (body, url) => {
    if (isReadOfOneWebhook(url)) return body;
    if (isList(body) && url.searchParams.get('group_by') === 'day') return daysOf(body.data, body.meta, url);
    if (isList(body)) return body.data.length === 0 ? body : pageOf(body.data, body.meta, url, count);
    if (!url.pathname.endsWith('/v1/data-source')) return body;
    const source = body['data'] as { tables: Json[] };
    const { data, meta } = pageOf(source.tables, body['meta'] as Json, url, maxTables);
    return { data: { ...source, tables: data.map(({ position, ...table }) => ({ ...table, name: `table_${position}` })) }, meta };
  });

function pageOf(rows: Json[], meta: Json, url: URL, count: number) {
  const limit = Number(url.searchParams.get('limit') ?? 20);
  const start = Number(url.searchParams.get('cursor') ?? 0);
  const length = Math.max(0, Math.min(limit, count - start));
  const data = Array.from({ length }, (_, index) => copyOf(rows[(start + index) % rows.length] ?? {}, start + index));
  return { data, meta: { ...meta, total: count, next_cursor: start + limit < count ? String(start + limit) : null } };
}

const dayMs = 86_400_000;
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

/** Usage on each day of the range. */
function daysOf(rows: Json[], meta: Json, url: URL) {
  const [from, to] = ['date_from', 'date_to'].map((name) => Date.parse(url.searchParams.get(name) ?? '')) as [number, number];
  const { data, meta: changed } = pageOf(rows, meta, url, (to - from) / dayMs + 1);
  return { data: data.map(({ position, ...row }) => ({ ...row, date: dayOf(from + Number(position) * dayMs) })), meta: changed };
}

/** A row whose ids no other copy has. */
function copyOf(row: Json, position: number): Json {
  const ids = ['id', 'user_id', 'agent_id'].filter((key) => typeof row[key] === 'string');
  return { ...row, position, name: `Row ${position}`, ...Object.fromEntries(ids.map((key) => [key, `${row[key]}-${position}`])) };
}

export const testManyRows = (started: () => PagesWorld) =>
  describe('many rows', () => {
    let world: PagesWorld;
    let paths: Record<string, string>;
    let visit: Visit;
    beforeAll(async () => {
      world = started();
      paths = await sharedPaths(world);
      const webhook = `/v1/webhooks/${paths['webhook']?.split('/').at(-1)}`;
      await world.call('POST', `${webhook}/test`);
      await until('the webhook has a delivery', async () => {
        const { data } = (await world.call('GET', `${webhook}/deliveries`)).json<{ data: unknown[] }>();
        return data.length > 0;
      });
    });

    afterEach(() => visit?.close());

    test('a list pages through 10,000, keeps its place and renders one page', async () => {
      visit = await world.visit();
      const { page } = visit;
      await multiply(page, total);
      const lists = ['agents', 'keys', 'applications', 'users', 'audit', 'webhooks', 'webhook', 'allocations'].map((name) => paths[name]);
      for (const path of [...lists, '/live/credits?group=user', '/live/credits?group=agent']) {
        await visit.open(path ?? '');
        await page.getByText('10,000 in all').first().waitFor();
        expect(await page.getByRole('row').count()).toBeLessThan(120);
        const next = page.getByRole('button', { name: 'Next' });
        await next.press('Enter');
        await page.getByText('10,000 in all, page 2').waitFor();
        expect(await next.and(page.locator(':focus')).count()).toBe(1);
        await page.reload();
        await page.getByText('10,000 in all, page 2').waitFor();
        await page.getByRole('button', { name: 'Previous' }).click();
        await page.getByText('10,000 in all', { exact: true }).waitFor();
      }
      // Another grouping begins at its first page.
      await page.getByRole('button', { name: 'Next' }).click();
      await page.getByText('10,000 in all, page 2').waitFor();
      await page.getByRole('button', { name: 'Day', exact: true }).click();
      await page.getByRole('table', { name: 'Usage by day' }).waitFor();
      expect(new URL(page.url()).searchParams.get('cursor')).toBeNull();
      expect(visit.problems).toEqual([]);
    });

    test('a filter that is chosen on a later page is never read from the cursor of that page', async () => {
      visit = await world.visit();
      const { page } = visit;
      await multiply(page, total);
      await visit.open('/live/agents');
      await page.getByRole('button', { name: 'Next' }).click();
      await page.getByText('10,000 in all, page 2').waitFor();
      await settle(page);
      const sent: [string | null, string | null][] = [];
      page.on('request', (request) => {
        const { pathname, searchParams } = new URL(request.url());
        if (pathname.endsWith('/v1/agents')) sent.push([searchParams.get('status'), searchParams.get('cursor')]);
      });
      await page.getByLabel('Status').selectOption('active');
      await page.getByText('10,000 in all', { exact: true }).waitFor();
      await settle(page);
      expect(sent).toEqual([['active', null]]);
      expect(visit.problems).toEqual([]);
    });

    test('rows stay while a filter changes, and go with their environment', async () => {
      visit = await world.visit();
      const { page } = visit;
      await visit.open('/live/keys');
      const { promise, resolve: release } = Promise.withResolvers<void>();
      await page.route(/\/v1\/keys\?/, async (route) => {
        await promise;
        await route.continue();
      });
      const menu = page.getByRole('button', { name: 'Actions of Reporting' }).first();
      const busy = page.locator('.table-frame[aria-busy=true]');
      await page.getByLabel('Status').selectOption('active');
      await busy.waitFor();
      expect(await menu.count()).toBe(1);
      await page.getByRole('link', { name: 'Test', exact: true }).first().click();
      await page.waitForURL(/\/test\/keys/);
      await menu.waitFor({ state: 'detached' });
      expect(await busy.count()).toBe(1);
      release();
      await busy.waitFor({ state: 'detached' });
      expect(visit.problems).toEqual([]);
    });

    test('users and agents behind the first hundred can be chosen, and a list that is cut says so', async () => {
      visit = await world.visit();
      const { page } = visit;
      await multiply(page, 250);
      const optionsOf = (label: string) => page.getByLabel(label, { exact: true }).locator('option');
      await visit.open('/live/keys');
      await page.getByRole('button', { name: 'Create a key' }).first().click();
      await optionsOf('User').getByText('Row 249').waitFor({ state: 'attached' });
      await page.keyboard.press('Escape');
      await visit.open(paths['audit'] ?? '');
      await optionsOf('User').getByText('Row 249').waitFor({ state: 'attached' });
      await visit.open(paths['chat-new'] ?? '');
      await optionsOf('Agent').getByText('Row 249').waitFor({ state: 'attached' });
      await page.unrouteAll();
      await multiply(page, total);
      await visit.open(paths['chat-new'] ?? '');
      await optionsOf('Agent').getByText('The first 1,000 of 10,000').waitFor({ state: 'attached' });
      expect(visit.problems).toEqual([]);
    });

    /** The catalogue of templates is a part of the service, and grows with no organization. */
    test('pages that show a part of a list stay as small with 10,000 rows', async () => {
      visit = await world.visit();
      const { page } = visit;
      await multiply(page, total);
      const findings: string[] = [];
      for (const name of ['home', 'agent', 'agent-data', 'agent-api', 'agent-new', 'agent-edit', 'chat-new', 'data-source', 'settings']) {
        await visit.open(paths[name] ?? '');
        const elements = await page.locator('*').count();
        if (elements > mostElements) findings.push(`${name} has ${elements} elements`);
      }
      expect([...findings, ...visit.problems]).toEqual([]);
    });

    test('usage of a year has each of its days', async () => {
      visit = await world.visit();
      await multiply(visit.page, total);
      const to = Date.now();
      await visit.open(`/live/credits?group=day&from=${dayOf(to - 365 * dayMs)}&to=${dayOf(to)}`);
      const rows = visit.page.getByRole('table', { name: 'Usage by day' }).getByRole('row');
      await rows.nth(1).waitFor();
      expect(await rows.count()).toBe(1 + 366);
      await visit.page.getByText('The chart has the last 62 days. The table has all of them.').waitFor();
      expect(visit.problems).toEqual([]);
    });

    test('a conversation of 10,000 messages shows earlier ones without moving, and stays quick', async () => {
      visit = await world.visit();
      const { page } = visit;
      await multiply(page, total);
      await visit.open(paths['chat'] ?? '');
      // The list of conversations grows by a button as well.
      const conversations = page.getByRole('navigation', { name: 'Conversations' }).getByRole('listitem');
      const listed = await conversations.count();
      expect(listed).toBeLessThan(120);
      await page.getByRole('button', { name: 'Show more' }).first().click();
      await conversations.nth(listed).waitFor();

      const log = page.getByRole('log', { name: 'Messages' });
      for (let times = 1; times <= 5; times += 1) {
        const before = await log.getByRole('article').count();
        await log.press('Home');
        // The browser scrolls in a thread of its own.
        await until('the log is at its top', () => log.evaluate((element) => element.scrollTop === 0));
        const first = await log.locator('.messages-inner > :not(button)').first().elementHandle();
        const firstY = (await first?.boundingBox())?.y ?? Number.NaN;
        const earlier = page.getByRole('button', { name: 'Show earlier messages' });
        await earlier.focus();
        await page.keyboard.press('Enter');
        await log.getByRole('article').nth(before).waitFor();
        await settle(page);
        // The next press of Enter shows those before.
        expect(await earlier.and(page.locator(':focus')).count()).toBe(1);
        expect(Math.abs(((await first?.boundingBox())?.y ?? Number.NaN) - firstY)).toBeLessThan(4);
      }
      const message = page.getByRole('textbox', { name: 'Message' });
      await expectQuick(
        page,
        { 'type a message below many': { act: () => message.pressSequentially('7'), undo: () => message.fill('') } },
        measuredTimes,
      );
      expect(visit.problems).toEqual([]);
    });

    test('a data source of 5,000 tables is searched, and its columns are chosen, at once', async () => {
      visit = await world.visit();
      const { page } = visit;
      await multiply(page, total);
      const entries = Array.from({ length: mostEntries - 1 }, (_, index) => `table_${index}`);
      await page.route(/\/v1\/agents\/[^/]+$/, async (route) => {
        const response = await route.fetch();
        const body = (await response.json()) as { data: Json };
        await route.fulfill({ response, json: { ...body, data: { ...body.data, data_scope: { tables: entries, read_only: true } } } });
      });
      const searchIn = (label: string) => {
        const box = page.getByRole('searchbox', { name: label });
        return { act: () => box.pressSequentially('4'), undo: () => box.fill('') };
      };
      await visit.open(paths['data-source'] ?? '');
      await page.getByText('4,800 more tables').waitFor();
      expect(await page.getByRole('row').count()).toBeLessThan(250);
      await expectQuick(page, { 'search 5,000 tables': searchIn('Search tables and columns') }, measuredTimes);
      await page.getByRole('searchbox', { name: 'Search tables and columns' }).fill('table_4999');
      await page.getByRole('cell', { name: 'table_4999' }).waitFor();
      expect(await page.getByRole('row').count()).toBe(2);

      await visit.open(paths['agent-edit'] ?? '');
      await page.getByText('199 tables of 5000').waitFor();
      const last = page.getByRole('checkbox', { name: 'All columns of table_199', exact: true });
      await expectQuick(
        page,
        {
          'search tables of a scope': searchIn('Find a table or column'),
          'choose a table': { act: () => last.check(), undo: () => last.uncheck() },
        },
        measuredTimes,
      );
      expect(visit.problems).toEqual([]);
    });
  });
