import { describe, expect, test } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { visitForEach } from './visit-for-each.ts';
import { isReadOfOneWebhook, type Json, type PagesWorld, rewrite, settle, type Visit } from './world.ts';

const unavailable = { status: 503, json: { error: { code: 'unavailable', message: 'The service is not available.' } } };
const source = /\/v1\/data-source/;
const staleMs = 11_000;

/** Changes that the network, the clock or a different user makes below an open page. */
export const testInterruptions = (started: () => PagesWorld) =>
  describe('an open page', () => {
    let paths: Record<string, string>;
    let visit: Visit;
    let page: Page;
    visitForEach(started, (opened) => {
      ({ paths, visit, page } = opened);
    });

    /** Reads everything again, as a window that gets the focus back after a while. */
    async function readAgain() {
      await page.clock.fastForward(staleMs);
      await page.evaluate(`window.dispatchEvent(new Event('visibilitychange'))`);
    }

    test('takes no dialog from one environment into the other', async () => {
      const changes: string[] = [];
      page.on('request', (request) => void (request.method() === 'PATCH' && changes.push(request.url())));
      await visit.open('/live/credits');
      const other = page.getByRole('link', { name: 'Test', exact: true }).first();
      await other.press('Enter');
      await page.waitForURL(/\/test\/credits/);
      await settle(page);
      expect(await other.evaluate((element) => element.matches(':focus'))).toBe(true);
      await page.getByRole('button', { name: 'Credit settings' }).click();
      await page.getByRole('dialog').getByLabel('Warn below this balance').fill('77');
      await page.goBack();
      await page.waitForURL(/\/live\/credits/);
      await settle(page);
      expect([await page.getByRole('dialog').count(), changes]).toEqual([0, []]);
    });

    const notFound = { status: 404, json: { error: { code: 'not_found', message: 'It was deleted.' } } };

    test.each<[string, RegExp]>([
      ['agent', /\/v1\/agents\/[^/]+$/],
      ['chat', /\/v1\/agents\/[^/]+$/],
      ['template', /\/v1\/templates\/[^/]+$/],
      ['webhook', /\/v1\/webhooks\?limit=100/],
    ])('of the %s goes when that was deleted, and stays when it cannot be read', async (name, reads) => {
      await page.clock.install();
      await visit.open(paths[name] ?? '');
      const failure = page.getByRole('heading', { name: 'This could not be loaded' });
      await page.route(reads, (route) => route.fulfill(unavailable));
      const isRefused = page.waitForResponse((response) => reads.test(response.url()));
      await readAgain();
      await isRefused;
      await page.clock.fastForward(1_000);
      await settle(page);
      expect(await failure.count()).toBe(0);
      await page.unroute(reads);
      await page.route(reads, (route) =>
        isReadOfOneWebhook(new URL(route.request().url()))
          ? route.fulfill({ json: { data: [], meta: { total: 0, next_cursor: null } } })
          : route.fulfill(notFound),
      );
      await readAgain();
      await failure.waitFor({ timeout: 20_000 });
    });

    test('says that there is no network, and reads its list when there is', async () => {
      await visit.open('/live/agents');
      await visit.context.setOffline(true);
      await page.getByLabel('Status').selectOption('draft');
      await page.getByRole('alert').getByText('The service could not be reached.').waitFor({ timeout: 20_000 });
      await visit.context.setOffline(false);
      await page.getByRole('alert').waitFor({ state: 'detached', timeout: 20_000 });
      await settle(page);
      expect(await page.getByRole('main').getByText('could not be reached').count()).toBe(0);
    });

    test.each<[string, RegExp]>([
      ['agents', /\/v1\/agents\?/],
      ['settings', /\/api\/sessions$/],
    ])('of %s says that the service could not be reached where a reply comes from elsewhere', async (name, reads) => {
      await page.route(reads, (route) => route.fulfill({ contentType: 'text/html', body: '<p>Sign in to this network</p>' }));
      await page.goto(paths[name] ?? '');
      await page.getByRole('alert').getByText('The service could not be reached.').waitFor({ timeout: 20_000 });
    });

    test('of an agent offers no copy of a request before it knows the address of the API', async () => {
      const { promise, resolve: release } = Promise.withResolvers<void>();
      await page.route(/\/api\/status$/, async (route) => {
        await promise;
        await route.continue();
      });
      await page.goto(paths['agent-api'] ?? '');
      await page.getByRole('region', { name: 'Send a message with curl' }).waitFor({ state: 'attached' });
      const copy = page.getByRole('button', { name: 'Copy: Send a message with curl' });
      expect(await copy.count()).toBe(0);
      release();
      await copy.waitFor({ timeout: 20_000 });
    });

    const [time, later] = ['2026-01-01T00:00:00Z', '2126-01-01T00:00:00Z'];
    const delivery = { id: 'del_1', event_id: 'evt_1', event_type: 'agent.created', status: 'delivered', attempts: [], created_at: time };
    const session = { id: 'ses_1', created_at: time, last_used_at: time, address: '192.0.2.7', current: false };
    const lists: [RegExp, Json][] = [
      [/\/deliveries\?/, { ...delivery, next_attempt_at: null, response_body: null }],
      [/\/api\/invitations$/, { id: 'inv_1', email: 'twice@demonstration.example', role: 'member', expires_at: later }],
      [/\/api\/sessions$/, { ...session, user_agent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' }],
    ];

    test.each<[string, string, RegExp]>([
      ['webhook', 'Send a test event', /\/v1\/webhooks\/[^/]+\/test$/],
      ['webhook', 'Send agent.created again', /\/redeliver$/],
      ['users', 'Withdraw the invitation of twice@demonstration.example', /\/api\/invitations\/inv_1$/],
      ['settings', 'End the session of Firefox on Linux at 192.0.2.7', /\/api\/sessions\/ses_1$/],
    ])('at %s sends one request for a double click: %s', async (name, label, request) => {
      for (const [list, row] of lists) await rewrite(page, (body) => ({ ...body, data: [row] }), list);
      const { promise: isClicked, resolve: allow } = Promise.withResolvers<void>();
      let requests = 0;
      await page.route(request, async (route) => {
        requests += 1;
        await isClicked;
        await route.fulfill({ json: { data: {} } });
      });
      await visit.open(paths[name] ?? '');
      await page.getByRole('button', { name: label, exact: true }).dblclick({ timeout: 20_000 });
      allow();
      await settle(page);
      expect(requests).toBe(1);
    });

    test('whose script is gone is loaded by a new document, which keeps what was typed in the chat', async () => {
      await visit.open(paths['chat-new'] ?? '');
      const box = page.getByRole('textbox', { name: 'Message' });
      await box.fill('A question that took long to write');
      const script = /\/assets\/agents-[^/]*\.js$/;
      await page.route(script, (route) => route.fulfill({ status: 404 }));
      const isReloaded = page.waitForEvent('load');
      await page.getByRole('link', { name: 'Agents', exact: true }).click();
      await isReloaded;
      const retry = page.getByRole('button', { name: 'Try again' });
      await retry.waitFor();
      await page.unroute(script);
      await retry.click();
      await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
      await page.goBack();
      await box.waitFor();
      expect(await box.inputValue()).toBe('A question that took long to write');
      // The browser says which file it did not get.
      visit.problems.length = 0;
    });

    test('whose script is gone keeps a message whose reply did not arrive under its key', async () => {
      const sent: [string | undefined, unknown][] = [];
      const { promise: isAnswered, resolve: setAnswered } = Promise.withResolvers<void>();
      const stream = /\/messages\/stream$/;
      await page.route(stream, async (route) => {
        const request = route.request();
        sent.push([request.headers()['idempotency-key'], request.postDataJSON()]);
        if (sent.length > 1) return await route.continue();
        await (await route.fetch()).text();
        return setAnswered();
      });
      const question = 'How many customers do we have in each country?';
      await visit.open(paths['chat-new'] ?? '');
      const box = page.getByRole('textbox', { name: 'Message' });
      await box.fill(question);
      await page.keyboard.press('Enter');
      await isAnswered;
      await box.fill('A draft below the message');
      await page.route(/\/assets\/agents-[^/]*\.js$/, (route) => route.fulfill({ status: 404 }));
      const isReloaded = page.waitForEvent('load');
      await page.getByRole('link', { name: 'Agents', exact: true }).click();
      await isReloaded;
      await page.goBack();
      await page.getByText(question, { exact: true }).waitFor();
      expect(await box.inputValue()).toBe('A draft below the message');
      await page.getByRole('button', { name: 'Send it again' }).click();
      await page.getByRole('article', { name: 'Answer' }).waitFor();
      expect(sent).toEqual([sent[0], sent[0]]);
      expect(await box.inputValue()).toBe('A draft below the message');
      // The browser says which file it did not get.
      visit.problems.length = 0;
    });

    test('of home says that its figures cannot be read', async () => {
      const summary = /\/v1\/credits\/summary/;
      await page.route(summary, (route) => route.fulfill(unavailable));
      await page.goto('/live');
      const failure = page.getByRole('alert').filter({ hasText: 'The service is not available.' });
      await failure.waitFor({ timeout: 20_000 });
      await page.unroute(summary);
      await failure.getByRole('button', { name: 'Try again' }).click();
      await failure.waitFor({ state: 'detached' });
      await page.getByText('Active users').waitFor();
    });

    test('of home asks for no first question in a month without one', async () => {
      let isRequested = false;
      page.on('request', (request) => void (/\/credits\/usage\?limit=1$/.test(request.url()) && (isRequested = true)));
      await rewrite(page, (body) => ({ ...body, data: { ...(body['data'] as Json), total_queries: 0 } }), /\/v1\/credits\/summary/);
      await visit.open('/live');
      expect([await page.getByRole('heading', { name: 'First steps' }).count(), isRequested]).toEqual([0, true]);
    });

    test('says that more conversations cannot be read', async () => {
      const lists = /\/conversations\?/;
      await rewrite(
        page,
        (body, { searchParams }) =>
          searchParams.has('cursor') ? body : { ...body, meta: { ...(body['meta'] as Json), next_cursor: 'next' } },
        lists,
      );
      await page.route(/\/conversations\?.*cursor=/, (route) => route.fulfill(unavailable));
      await visit.open(paths['chat'] ?? '');
      const list = page.getByRole('navigation', { name: 'Conversations' });
      await list.getByRole('button', { name: 'Show more' }).click();
      await list.getByRole('alert').getByText('The service is not available.').waitFor({ timeout: 20_000 });
      await list.getByRole('listitem').first().waitFor();
    });

    test('says that the users to make a key for cannot be read', async () => {
      await page.route(/\/v1\/users\?/, (route) => route.fulfill(unavailable));
      await visit.open(paths['keys'] ?? '');
      await page.getByRole('button', { name: 'Create a key' }).first().click();
      const field = page.getByRole('dialog').getByLabel('User', { exact: true });
      await page.getByRole('dialog').getByText('The users could not be loaded. The service is not available.').waitFor({ timeout: 20_000 });
      expect(await field.locator('option').allInnerTexts()).toEqual(['You']);
    });

    test('of an agent keeps its tables while the data source cannot be read', async () => {
      const reason = 'The database does not answer.';
      const change = (body: Json) => ({ ...body, data: { ...(body['data'] as Json), status: 'unreadable', reason, tables: [] } });
      await rewrite(page, change, source);
      await visit.open(paths['agent-edit'] ?? '');
      const notice = page.getByText(reason);
      await notice.waitFor();
      expect([
        await page.getByText('is not in the data source').count(),
        await page.getByRole('button', { name: 'Remove customers' }).count(),
      ]).toEqual([0, 0]);
      await page.getByText('customers', { exact: true }).waitFor();
      await page.unroute(source);
      await page.getByRole('button', { name: 'Try again' }).click();
      await notice.waitFor({ state: 'detached' });
      await page.getByLabel('Find a table or column').waitFor();
    });

    test('of an agent shows no part of a data source that became unreadable on the way', async () => {
      const change = (body: Json, { searchParams }: URL) =>
        searchParams.has('cursor')
          ? { ...body, data: { ...(body['data'] as Json), status: 'unreadable', reason: 'The database does not answer.', tables: [] } }
          : { ...body, meta: { ...(body['meta'] as Json), next_cursor: 'next' } };
      await rewrite(page, change, source);
      await page.goto(paths['agent-edit'] ?? '');
      await page.getByRole('alert').getByText('The database does not answer.').waitFor({ timeout: 20_000 });
    });

    test('says how a database answers only while the form has the address that was tested', async () => {
      const tests = /\/data-source\/test$/;
      const outcome = { server_version: '18.0', tables: 1, duration_ms: 1, role_gate: { active: true, reason: '' } };
      const dialog = page.getByRole('dialog');
      const field = (label: string) => dialog.getByLabel(label, { exact: true });
      const notice = dialog.getByText('the account can read 1 table');
      await visit.open(paths['data-source'] ?? '');
      await page.getByRole('button', { name: 'Replace' }).click();
      for (const [label, value] of Object.entries({ Host: 'db.example.com', Database: 'erp', User: 'reader' }))
        await field(label).fill(value);
      const runTest = async (whileItIsTested?: () => Promise<void>) => {
        const { promise: isAllowed, resolve: answer } = Promise.withResolvers<void>();
        const reply = async (route: Route) => {
          await isAllowed;
          await route.fulfill({ json: { data: outcome } });
        };
        await page.route(tests, reply, { times: 1 });
        const isAsked = page.waitForRequest(tests);
        await dialog.getByRole('button', { name: 'Test' }).click();
        await isAsked;
        await whileItIsTested?.();
        answer();
        await settle(page);
      };
      await runTest(async () => {
        expect(await dialog.locator('[aria-busy]').allInnerTexts()).toEqual(['Test']);
      });
      expect(await notice.count()).toBe(1);
      await field('Host').fill('other.example.com');
      expect(await notice.count()).toBe(0);
      await runTest(() => field('Password').fill('a new password'));
      expect(await notice.count()).toBe(0);
      await runTest();
      expect(await notice.count()).toBe(1);
      await dialog.getByRole('button', { name: 'Connection URL' }).click();
      expect(await notice.count()).toBe(0);
    });

    test('of users shows a link that sets a password in the dialog that has asked for it, and makes one', async () => {
      const { promise: isClosed, resolve: allow } = Promise.withResolvers<void>();
      let links = 0;
      await page.route(/\/users\/[^/]+\/reset-link$/, async (route) => {
        links += 1;
        await isClosed;
        await route.fulfill({ json: { data: { link: 'https://portal.example.com/password-reset', expires_at: later } } });
      });
      await visit.open(paths['users'] ?? '');
      await page.getByRole('button', { name: 'Actions of Grace Hopper' }).first().click();
      await page.getByRole('menuitem', { name: 'Link to set a password' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'Create the link' }).dblclick({ timeout: 20_000 });
      await page.keyboard.press('Escape');
      await page.mouse.click(2, 2);
      allow();
      expect(await dialog.getByRole('textbox', { name: 'Link' }).inputValue()).toBe('https://portal.example.com/password-reset');
      expect(links).toBe(1);
    });

    test('of usage whose cursor has ended shows the first page', async () => {
      await visit.open('/live/credits?group=user&cursor=of-the-day-before');
      await page.getByRole('table', { name: 'Usage by user' }).waitFor({ timeout: 20_000 });
      expect(new URL(page.url()).searchParams.get('cursor')).toBeNull();
    });

    test('of the test environment offers the scopes that a key can have there', async () => {
      await visit.open('/test/keys');
      await page.getByRole('button', { name: 'Create a key' }).first().click();
      await page.getByRole('button', { name: 'Choose all' }).click();
      await page.getByRole('dialog').getByLabel('Name').fill('All of test');
      await page.getByRole('button', { name: 'Create the key' }).click();
      await page.getByRole('textbox', { name: 'API key' }).waitFor({ timeout: 20_000 });
    });
  });
