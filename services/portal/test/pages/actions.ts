import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { api, desktop, isReadOfOneWebhook, type Json, type PagesWorld, preparePaths, rewrite, settle, type Visit } from './world.ts';

export const testActions = (started: () => PagesWorld) =>
  describe('an administrator', () => {
    let world: PagesWorld;
    let paths: Record<string, string>;
    let visit: Visit;
    let page: Page;
    beforeAll(async () => {
      world = started();
      paths = await preparePaths(world);
      visit = await world.visit();
      page = visit.page;
    });
    afterAll(async () => {
      expect(visit.problems).toEqual([]);
      await visit.close();
    });

    const announced = (text: string) => page.getByText(text, { exact: true }).first().waitFor();

    /** A stopped worker begins nothing: an answer stays as it is when its message is accepted. */
    async function whileWorkerIsStopped(act: () => Promise<void>) {
      const { pid } = world.system.processes.get('answer-worker') ?? {};
      if (!pid) throw new Error('there is no process answer-worker');
      process.kill(pid, 'SIGSTOP');
      await act().finally(() => process.kill(pid, 'SIGCONT'));
    }

    test('finds a first question again that waits for a worker', async () => {
      const question = 'How many customers do we have by language?';
      await visit.open(paths['chat-new'] ?? '');
      await whileWorkerIsStopped(async () => {
        await page.getByRole('textbox', { name: 'Message' }).fill(question);
        await page.keyboard.press('Enter');
        await page.waitForURL(/\/conv_/, { timeout: 20_000 });
        await page.reload();
        await page.getByText('The answer is being written').waitFor({ timeout: 20_000 });
        await page.getByRole('navigation', { name: 'Conversations' }).getByText(question).waitFor({ timeout: 20_000 });
      });
      await page.getByRole('article', { name: 'Answer' }).waitFor();
    });

    test('cancels an answer, which costs nothing', async () => {
      const agent = paths['agent']?.split('/').at(-1);
      interface Message {
        conversation_id: string;
        status: string;
        credits_consumed: number;
      }
      await visit.open(paths['chat-new'] ?? '');
      await whileWorkerIsStopped(async () => {
        const isAccepted = page.waitForResponse((response) => response.url().endsWith('/messages/stream'));
        await page.getByRole('textbox', { name: 'Message' }).fill('How many customers do we have by country?');
        await page.keyboard.press('Enter');
        const location = (await (await isAccepted).allHeaders())['content-location'] ?? '';
        await page.getByRole('button', { name: 'Cancel the answer' }).click();
        await page.getByText('The answer was cancelled. No credits were charged.', { exact: true }).waitFor();
        const { data } = (await world.call('GET', location)).json<{ data: Message }>();
        expect(data).toMatchObject({ status: 'cancelled', credits_consumed: 0 });
        await visit.open(`/live/chat/${agent}/${data.conversation_id}`);
        await page.getByText('The answer was cancelled. No credits were charged.', { exact: true }).waitFor();
      });
    });

    test.each([
      ['/live/credits?group=agent', 'usage-by-agent.csv', /^agent_id,agent,credits,queries,Fast,.*\r\nagt_\w+,Customer insights,\d+,\d+/],
      ['/live/credits?group=user', 'usage-by-user.csv', /^user_id,user,credits,.*\r\nusr_\w+,[^,]+,\d+,\d+/],
      ['/live/credits?group=day', 'usage-by-day.csv', /^day,credits,.*\r\n\d{4}-\d\d-\d\d,\d+,\d+/],
      ['/live/credits?group=month', 'usage-by-month.csv', /^month,credits,.*\r\n\d{4}-\d\d-01,\d+,\d+/],
      ['/live/audit', 'audit-live.csv', /^time,actor_type,.*\r\n\d{4}-/],
    ])('exports %s', async (path, name, content) => {
      await visit.open(path);
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export as CSV' }).click()]);
      expect(download.suggestedFilename()).toBe(name);
      expect(await readFile(await download.path(), 'utf8')).toMatch(content);
    });

    test('rotates a key: the new secret works, and the old one ends at once if that is chosen', async () => {
      const { data } = (await world.call('POST', '/v1/keys', { name: 'To rotate', scopes: ['agents:read'] })).json<{
        data: { api_key: string };
      }>();
      await visit.open('/live/keys');
      await page.getByRole('button', { name: 'Actions of To rotate' }).click();
      await page.getByRole('menuitem', { name: 'Replace' }).click();
      await page.getByRole('dialog', { name: 'Replace the key?' }).waitFor();
      await page.getByLabel('The old one stays valid for').selectOption('0');
      await page.getByRole('button', { name: 'Replace', exact: true }).click();
      const secret = await page.getByRole('textbox', { name: 'API key' }).inputValue();
      await page.getByRole('button', { name: 'Done' }).click();
      const statusOf = async (key: string) => (await world.call('GET', '/v1/agents', undefined, key)).status;
      expect([await statusOf(secret), await statusOf(data.api_key)]).toEqual([200, 401]);
    });

    test('revokes a replaced key that is still valid, and can do nothing else with it', async () => {
      interface Key {
        id: string;
        api_key: string;
      }
      const replaced = (await world.call('POST', '/v1/keys', { name: 'To replace', scopes: ['agents:read'] })).json<{ data: Key }>().data;
      const next = (await world.call('POST', `/v1/keys/${replaced.id}/rotate`, { previous_valid_seconds: 3_600 })).json<{ data: Key }>()
        .data;
      await visit.open('/live/keys');
      const row = page.getByRole('row').filter({ hasText: 'To replace' }).filter({ hasText: 'Ends soon' });
      await row.getByRole('button', { name: 'Actions of To replace (replaced)' }).click();
      expect(await page.getByRole('menuitem').allInnerTexts()).toEqual(['Revoke']);
      await page.getByRole('menuitem', { name: 'Revoke' }).click();
      await page.getByRole('dialog', { name: 'Revoke the replaced key?' }).getByRole('textbox').fill('To replace');
      await page.getByRole('button', { name: 'Revoke the key' }).click();
      await announced('The key was revoked.');
      await row.waitFor({ state: 'detached' });
      const statusOf = async (key: string) => (await world.call('GET', '/v1/agents', undefined, key)).status;
      expect([await statusOf(next.api_key), await statusOf(replaced.api_key)]).toEqual([200, 401]);
    });

    test('sends a test event, sees without a reload how it ended, and sends it again', async () => {
      await visit.open(paths['webhook'] ?? '');
      await page.getByRole('button', { name: 'Send a test event' }).click();
      await announced('A test event is on its way.');
      const row = page.getByRole('table', { name: 'Deliveries' }).getByRole('row').nth(1);
      await row.getByText('Failed').waitFor({ timeout: 20_000 });
      await row.getByText('1 attempt').click();
      await row.getByText(/ · Unknown host name · \d+ ms$/).waitFor();
      await row.getByRole('button', { name: /^Send .* again$/ }).click();
      await announced('The event is sent again.');
    });

    test.each([390, 480, 560, 768, 1_024])('sees the figures of the credits without a gap, %i wide', async (width) => {
      await page.setViewportSize({ ...desktop, width });
      await visit.open('/live/credits');
      const rights = await page.locator('.figure').evaluateAll((figures) => {
        const rows = Map.groupBy(figures, (figure) => figure.getBoundingClientRect().top);
        return [...rows.values()].map((row) => Math.round(Math.max(...row.map((figure) => figure.getBoundingClientRect().right))));
      });
      await page.setViewportSize(desktop);
      expect(new Set(rights).size).toBe(1);
    });

    test('sees today in the usage of a home page that stays open over midnight, and reads no list of tables there', async () => {
      const open = await world.visit();
      const isoDay = (time: number) => new Date(time).toISOString().slice(0, 10);
      const midnight = Date.parse(isoDay(Date.now())) + 86_400_000;
      await open.page.clock.install({ time: midnight - 60_000 });
      const reads: string[] = [];
      open.page.on('request', (request) => void (request.url().includes('/v1/data-source') && reads.push(new URL(request.url()).search)));
      await open.open('/live');
      const isRead = open.page.waitForRequest(new RegExp(`group_by=day.*date_to=${isoDay(midnight)}`), { timeout: 20_000 });
      await open.page.clock.fastForward('02:00');
      await isRead;
      expect(reads).toEqual(['?limit=1']);
      expect(open.problems).toEqual([]);
      await open.close();
    });

    test('reads at home which agents the recent conversations are with, unless there are no others', async () => {
      let total = 9;
      await rewrite(page, (body, { pathname }) => {
        const list = body as { data: Json[]; meta: Json };
        if (pathname.endsWith('/conversations')) return { ...list, data: [] };
        return pathname.endsWith('/agents') ? { ...list, meta: { ...list.meta, total } } : body;
      });
      const recent = page.getByRole('region', { name: 'Your recent conversations' });
      await visit.open('/live');
      const text = await recent.innerText();
      expect(text).toMatch(/With the [2-5] newest active agents/);
      expect(text).toContain('No conversations with these agents yet');
      total = 2;
      await visit.open('/live');
      expect(await recent.innerText()).toMatch(/^Your recent conversations\s+No conversations yet/);
      await page.unroute(api);
    });

    test('sees why a webhook may have been disabled', async () => {
      await rewrite(page, (body, url) =>
        isReadOfOneWebhook(url)
          ? { ...body, data: (body as { data: Json[] }).data.map((one) => ({ ...one, active: false, status: 'disabled' })) }
          : body,
      );
      await visit.open(paths['webhook'] ?? '');
      await page.unroute(api);
      await page.getByRole('alert').getByText('failed for seven days, or your server answered 410 Gone').waitFor();
    });

    test('sees that a list could not be read again, until it is', async () => {
      await visit.open(paths['webhook'] ?? '');
      const deliveries = /\/deliveries\?/;
      const error = { code: 'unavailable', message: 'The service is not available.' };
      await page.route(deliveries, (route) => route.fulfill({ status: 503, json: { error } }));
      await page.getByRole('button', { name: 'Refresh' }).click();
      const failure = page.getByRole('alert').filter({ hasText: 'This list may be out of date. The service is not available.' });
      await failure.waitFor();
      await page.unroute(deliveries);
      await failure.getByRole('button', { name: 'Read it again' }).click();
      await failure.waitFor({ state: 'detached' });
    });

    test('sees the day of a change of a template as its catalogue has it, also west of Greenwich', async () => {
      const west = await world.visit({ timeZone: 'America/New_York' });
      await west.open(paths['template'] ?? '');
      const { changelog } = JSON.parse((await world.call('GET', '/v1/templates/tpl_customer_insights')).text).data;
      const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(changelog[0].date));
      await west.page.getByText(day, { exact: true }).waitFor({ timeout: 10_000 });
      await west.close();
    });

    test.each(['audit', 'credits'])('types a day at %s', async (name) => {
      await visit.open(paths[name] ?? '');
      const from = page.getByRole('textbox', { name: 'From' });
      await from.focus();
      await page.keyboard.type('05052026', { delay: 50 });
      await page.waitForURL(/from=2026-05-05/, { timeout: 10_000 });
      await page.getByRole('heading', { level: 1 }).click();
      expect(await from.inputValue()).toBe('2026-05-05');
    });

    test('says beside the days of the audit log that they are reversed, and sends them nowhere', async () => {
      const sent: string[] = [];
      page.on('request', (request) => void (request.url().includes('/v1/audit?') && sent.push(request.url())));
      await visit.open('/live/audit?from=2026-05-06&to=2026-05-05');
      await page.getByRole('alert').getByText('The first day is after the last one.').waitFor({ timeout: 10_000 });
      const from = page.getByRole('textbox', { name: 'From' });
      expect([sent, await from.getAttribute('aria-invalid')]).toEqual([[], 'true']);
      expect(await page.getByRole('button', { name: 'Export as CSV' }).isDisabled()).toBe(true);
      await from.fill('2026-05-05');
      await page.getByRole('alert').waitFor({ state: 'detached' });
      await settle(page);
      expect(sent).toHaveLength(1);
    });

    test('exports a list that takes more requests than are allowed at once', async () => {
      await visit.open(paths['audit'] ?? '');
      let requests = 0;
      await page.route(/\/v1\/audit\?limit=200/, async (route) => {
        requests += 1;
        if (requests > 1) return await route.continue();
        const error = { code: 'rate_limited', message: 'Too many requests.' };
        return await route.fulfill({ status: 429, headers: { 'retry-after': '1' }, json: { error } });
      });
      const isSaved = page.waitForEvent('download', { timeout: 20_000 });
      await page.getByRole('button', { name: 'Export as CSV' }).click();
      expect([(await isSaved).suggestedFilename(), requests]).toEqual(['audit-live.csv', 2]);
    });

    test('exports each user once, also one who uses more while the pages are read', async () => {
      const passes = [['usr_a'], ['usr_b', 'usr_a']];
      let read = 0;
      await rewrite(page, (body, url) => {
        if (url.searchParams.get('group_by') !== 'user' || url.searchParams.get('limit') !== '200') return body;
        const ids = passes[read++] ?? [];
        const row = { total_credits: 1, query_count: 1, breakdown_by_model: {} };
        return { data: ids.map((id) => ({ ...row, user_id: id })), meta: { ...(body['meta'] as Json), total: 2, next_cursor: null } };
      });
      await visit.open('/live/credits?group=user');
      const isSaved = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Export as CSV' }).click();
      const lines = (await readFile(await (await isSaved).path(), 'utf8')).trim().split('\r\n');
      expect(lines.slice(1).map((line) => line.split(',')[0])).toEqual(['usr_a', 'usr_b']);
      await page.unroute(api);
    });

    test('duplicates a template, and deactivates it', async () => {
      await visit.open(paths['template'] ?? '');
      await page.getByRole('button', { name: 'Duplicate' }).click();
      await page.getByLabel('Name', { exact: true }).fill('A copy of mine');
      await page.getByRole('dialog').getByRole('button', { name: 'Duplicate' }).click();
      await page.getByRole('heading', { level: 1, name: /A copy of mine.*Draft/ }).waitFor();
      await visit.open(paths['template'] ?? '');
      await page.getByRole('button', { name: 'Deactivate' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click();
      await page.getByRole('button', { name: 'Activate' }).waitFor();
      await visit.open(paths['agent'] ?? '');
      await page.getByRole('heading', { level: 1, name: /Customer insights.*Inactive/ }).waitFor();
      expect((await world.call('POST', '/v1/templates/tpl_customer_insights/activate', {})).status).toBe(201);
    });

    test('activates a template again with the name and the model that the dialog shows', async () => {
      const template = '/v1/templates/tpl_customer_insights';
      await world.call('POST', `${template}/deactivate`);
      await world.call('POST', `${template}/activate`, { name_override: 'Earlier name', model_override: 'Premium' });
      await world.call('POST', `${template}/deactivate`);
      await visit.open(paths['template'] ?? '');
      await page.getByRole('button', { name: 'Activate' }).click();
      const dialog = page.getByRole('dialog');
      const model = await dialog.getByLabel('Model').inputValue();
      await dialog.getByRole('button', { name: 'Activate' }).click();
      await page.getByRole('heading', { level: 1, name: /Active/ }).waitFor();
      const { data } = (await world.call('GET', `/v1/agents/${page.url().split('/').at(-1)}`)).json<{ data: Json }>();
      expect([model === 'Premium', data]).toMatchObject([false, { name: 'Customer insights', model }]);
    });

    test('sees at once that a template is no longer activated after its agent was made inactive', async () => {
      await visit.open('/live/templates');
      const template = page.getByRole('listitem').filter({ hasText: 'Customer insights' });
      await template.getByText('Activated', { exact: true }).waitFor();
      await page.getByRole('link', { name: 'Agents', exact: true }).click();
      for (const [action, isActivated] of [
        ['Make inactive', false],
        ['Make active', true],
      ] as const) {
        await page.getByRole('button', { name: 'Actions of Customer insights', exact: true }).click();
        await page.getByRole('menuitem', { name: action }).click();
        await page
          .getByText(`Customer insights is ${isActivated ? 'active' : 'inactive'}.`)
          .first()
          .waitFor();
        await page.getByRole('link', { name: 'Templates', exact: true }).click();
        await template.getByText('Activated', { exact: true }).waitFor({ state: isActivated ? 'attached' : 'detached' });
        await page.getByRole('link', { name: 'Agents', exact: true }).click();
      }
    });

    test('is led to the agent of a template that another user has activated in the meantime', async () => {
      const template = '/v1/templates/tpl_customer_insights';
      await world.call('POST', `${template}/deactivate`);
      await visit.open(paths['template'] ?? '');
      await page.getByRole('button', { name: 'Activate' }).click();
      const activated = await world.call('POST', `${template}/activate`, {});
      await page.getByRole('dialog').getByRole('button', { name: 'Activate' }).click();
      await page.getByRole('heading', { level: 1, name: /Customer insights.*Active/ }).waitFor();
      await page.getByText('The template is activated already, as the agent').first().waitFor();
      expect(page.url().split('/').at(-1)).toBe(activated.json<{ data: { agent_id: string } }>().data.agent_id);
    });

    test('revokes a key without a name by its hint, typed with three dots', async () => {
      // The key that came with the organization; the tests go on with it.
      const revocation = /\/v1\/auth\/keys\/[^/]+$/;
      await page.route(revocation, (route) => route.fulfill({ status: 204 }));
      const { data } = (await world.call('GET', '/v1/keys')).json<{ data: { id: string; name: string; hint: string }[] }>();
      const { id, hint } = data.find(({ name }) => name === '') ?? { id: '', hint: '' };
      await visit.open('/live/keys');
      await page.getByRole('button', { name: `Actions of ${hint}` }).click();
      await page.getByRole('menuitem', { name: 'Revoke' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('textbox').fill(hint.replace('…', '...'));
      const isSent = page.waitForRequest((request) => request.method() === 'DELETE');
      await dialog.getByRole('button', { name: 'Revoke the key' }).click({ timeout: 20_000 });
      expect((await isSent).url().split('/').at(-1)).toBe(id);
      await dialog.waitFor({ state: 'detached' });
      await page.unroute(revocation);
    });
  });
