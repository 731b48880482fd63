import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { visitForEach } from './visit-for-each.ts';
import { api, type Json, type PagesWorld, rewrite, settle, signIn, type Visit } from './world.ts';

/** Two users at once, lost replies and slow ones. */
export const testChanges = (started: () => PagesWorld) =>
  describe('a change', () => {
    let world: PagesWorld;
    let paths: Record<string, string>;
    let visit: Visit;
    let page: Page;
    visitForEach(started, (opened) => {
      ({ world, paths, visit, page } = opened);
    });

    const read = async (...request: Parameters<PagesWorld['call']>) => JSON.parse((await world.call(...request)).text).data;
    const dialog = () => page.getByRole('dialog');
    /** The bodies of the changes that the page sends, which get no further. */
    async function recordChanges(): Promise<unknown[]> {
      const bodies: unknown[] = [];
      await page.route(/\/api\/live\/v1\//, async (route) => {
        if (route.request().method() !== 'PATCH') return await route.fallback();
        bodies.push(route.request().postDataJSON());
        return await route.fulfill({ json: { data: {} } });
      });
      return bodies;
    }

    describe('of an agent', () => {
      let agent: string;
      const wide = { tables: ['customers', 'orders'], read_only: true };
      const narrow = { tables: ['customers(id)'], read_only: true };
      beforeEach(async () => {
        ({ id: agent } = await read('POST', '/v1/agents', { name: 'Shared agent', system_prompt: 'Answer.', data_scope: wide }));
        await visit.open(`/live/agents/${agent}`);
      });
      afterEach(() => world.call('DELETE', `/v1/agents/${agent}`));

      test('begins at what is stored, and leaves the fields alone that it does not concern', async () => {
        await read('PATCH', `/v1/agents/${agent}`, { data_scope: narrow });
        const isSaved = page.waitForRequest((request) => request.method() === 'PATCH');
        await page.getByRole('link', { name: 'Edit', exact: true }).click();
        await page.getByLabel('Description').fill('Described');
        await page.getByRole('button', { name: 'Save' }).click();
        expect((await isSaved).postDataJSON()).toEqual({ description: 'Described' });
        await page.getByText('The changes are saved.', { exact: true }).first().waitFor();
        expect(await read('GET', `/v1/agents/${agent}`)).toMatchObject({ description: 'Described', data_scope: narrow });
      });

      test('is refused if another user changes the agent in the meantime', async () => {
        await page.getByRole('link', { name: 'Edit', exact: true }).click();
        await page.getByLabel('Description').fill('Described');
        await read('PATCH', `/v1/agents/${agent}`, { data_scope: narrow });
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByRole('alert').getByText('The agent was changed by someone else').waitFor();
        expect(await read('GET', `/v1/agents/${agent}`)).toMatchObject({ description: '', data_scope: narrow });
        await page.getByLabel('Description').fill('');
      });
    });

    test('waits for a service that is slow, and says so', async () => {
      await page.clock.install();
      await visit.open('/live/settings');
      const { promise, resolve: release } = Promise.withResolvers<void>();
      await page.route(/\/v1\/agents\?/, async (route) => {
        await promise;
        await route.continue();
      });
      const isAsked = page.waitForRequest(/\/v1\/agents\?/);
      await page.getByRole('link', { name: 'Agents', exact: true }).click();
      await isAsked;
      const notice = page.getByText('The service is slow to answer.');
      await page.clock.fastForward(4_000);
      expect(await notice.count()).toBe(0);
      await page.clock.fastForward(2_000);
      await notice.waitFor();
      release();
      await notice.waitFor({ state: 'detached' });
      await page.getByRole('link', { name: 'Customer insights' }).first().waitFor();
    });

    test('of an agent that fails says so where the user has scrolled to', async () => {
      await visit.open(paths['agent-edit'] ?? '');
      const path = /\/v1\/agents\/[^/]+$/;
      const error = { code: 'unavailable', message: 'The service is not available.' };
      await page.route(path, (route) =>
        route.request().method() === 'PATCH' ? route.fulfill({ status: 503, json: { error } }) : route.fallback(),
      );
      await page.getByLabel('Description').fill('Described');
      await page.getByRole('button', { name: 'Save' }).click();
      const failure = page.getByRole('alert').filter({ hasText: error.message });
      await failure.waitFor();
      expect(await failure.evaluate((element) => element.checkVisibility() && element.getBoundingClientRect().bottom)).toBeLessThan(
        page.viewportSize()?.height ?? 0,
      );
    });

    test.each<[string, string, string, Json]>([
      ['keys', 'Reporting', 'Name', { name: 'Changed' }],
      ['applications', 'Web shop', 'Name', { name: 'Changed' }],
      ['webhooks', 'the webhook', 'Description', { description: 'Changed' }],
    ])('of one of the %s sends the field that was changed', async (name, row, label, body) => {
      const bodies = await recordChanges();
      await visit.open(paths[name === 'webhooks' ? 'webhook' : name] ?? '');
      await page
        .getByRole('button', { name: `Actions of ${row}` })
        .first()
        .click();
      await page.getByRole('menuitem', { name: 'Edit' }).click();
      await dialog().getByLabel(label).fill('Changed');
      await dialog().getByRole('button', { name: 'Save' }).click();
      await dialog().waitFor({ state: 'detached' });
      expect(bodies).toEqual([body]);
    });

    test('whose reply is lost is sent again under its key, and is made once', async () => {
      const keys: (string | undefined)[] = [];
      await page.route(/\/v1\/keys$/, async (route) => {
        if (route.request().method() !== 'POST') return await route.fallback();
        keys.push(route.request().headers()['idempotency-key']);
        if (keys.length > 1) return await route.continue();
        await route.fetch();
        return await route.abort('connectionreset');
      });
      await visit.open('/live/keys');
      await page.getByRole('button', { name: 'Create a key' }).first().click();
      await dialog().getByLabel('Name').fill('Made once');
      const create = dialog().getByRole('button', { name: 'Create the key' });
      await create.click();
      await dialog().getByText('The service could not be reached.').waitFor();
      await create.click();
      const secret = await dialog().getByRole('textbox', { name: 'API key' }).inputValue();
      await dialog().getByRole('button', { name: 'Done' }).click();
      expect((await world.call('GET', '/v1/agents', undefined, secret)).status).toBe(200);
      expect(((await read('GET', '/v1/keys')) as Json[]).filter(({ name }) => name === 'Made once')).toHaveLength(1);
      // Another creation has another key, also with the same values.
      await page.getByRole('button', { name: 'Create a key' }).first().click();
      await dialog().getByLabel('Name').fill('Made once');
      await create.click();
      await dialog().getByRole('textbox', { name: 'API key' }).waitFor();
      expect([keys.length, keys[0] === keys[1], keys[1] === keys[2]]).toEqual([3, true, false]);
    });

    test('of the secret of a webhook says which header needs it at once, and may bring the secret', async () => {
      const bodies: unknown[] = [];
      await page.route(/\/rotate-secret$/, async (route) => {
        bodies.push(route.request().postDataJSON());
        const data = { id: 'whk_1', secret: 'a secret of their own', previous_secret_until: new Date().toISOString() };
        return await route.fulfill({ json: { data } });
      });
      await visit.open(paths['webhook'] ?? '');
      for (const secret of ['', 'a secret of their own']) {
        await page.getByRole('button', { name: 'Actions of the webhook' }).click();
        await page.getByRole('menuitem', { name: 'Replace the secret' }).click();
        await dialog().getByText('X-Service-Signature').waitFor();
        await dialog().getByLabel('New secret').fill(secret);
        await dialog().getByRole('button', { name: 'Replace the secret' }).click();
        await dialog().getByRole('button', { name: 'Done' }).click();
      }
      expect(bodies).toEqual([{}, { secret: 'a secret of their own' }]);
    });

    test('that a button makes carries a key', async () => {
      await visit.open(paths['webhook'] ?? '');
      const isSent = page.waitForRequest((request) => request.url().endsWith('/test'));
      await page.getByRole('button', { name: 'Send a test event' }).click();
      expect((await isSent).headers()['idempotency-key']).toMatch(/^[0-9a-f]{32}$/);
    });

    /** Answers requests with this method when the returned function is called: the service is not available. */
    async function failLate(method: string) {
      const { promise, resolve: fail } = Promise.withResolvers<void>();
      await page.route(/\/api\/live\/v1\//, async (route) => {
        if (route.request().method() !== method) return await route.fallback();
        await promise;
        return await route.fulfill({ status: 503, json: { error: { code: 'unavailable', message: 'The service is not available.' } } });
      });
      return fail;
    }
    const unavailable = () => page.getByRole('alert').getByText('The service is not available.');

    test('keeps its dialog open until it has ended', async () => {
      const fail = await failLate('DELETE');
      await visit.open('/live/keys');
      await page.getByRole('button', { name: 'Actions of Reporting' }).first().click();
      await page.getByRole('menuitem', { name: 'Revoke' }).click();
      await dialog().getByRole('textbox').fill('Reporting');
      const isSent = page.waitForRequest((request) => request.method() === 'DELETE');
      await dialog().getByRole('button', { name: 'Revoke the key' }).click();
      await isSent;
      await page.keyboard.press('Escape');
      await page.mouse.click(2, 2);
      for (const name of ['Cancel', 'Close']) await dialog().getByRole('button', { name }).click({ force: true });
      fail();
      await unavailable().waitFor();
      await page.keyboard.press('Escape');
      await dialog().waitFor({ state: 'detached' });
    });

    /** Sends the form of a new agent, and goes to another page before the reply. */
    const createAndLeave = async (name: string) => {
      await page.getByLabel('Name', { exact: true }).fill(name);
      await page.getByLabel('Instructions').fill('Answer.');
      const isSent = page.waitForRequest((request) => request.method() === 'POST');
      await page.getByRole('button', { name: 'Create the agent' }).click();
      await isSent;
      await page.getByRole('link', { name: 'Templates', exact: true }).click();
      await page.getByRole('heading', { level: 1, name: 'Templates' }).waitFor();
    };

    test('that fails after the user has left its page is announced', async () => {
      await visit.open('/live/agents');
      await page.getByRole('link', { name: 'New agent' }).click();
      const fail = await failLate('POST');
      await createAndLeave('Left');
      fail();
      await page.locator('.toast').getByText('The service is not available.').waitFor();
    });

    test('that ends after the user has left its page leaves the user there', async () => {
      await visit.open('/live/agents');
      await page.getByRole('link', { name: 'New agent' }).click();
      const { promise, resolve: release } = Promise.withResolvers<void>();
      await page.route(/\/v1\/agents$/, async (route) => {
        await promise;
        await route.continue();
      });
      await createAndLeave('Made later');
      release();
      await page.getByText('Made later was created as a draft.').first().waitFor();
      await settle(page);
      expect(new URL(page.url()).pathname).toBe('/live/templates');
    });

    test('of the own user is seen at once', async () => {
      const login = { email: 'own@own.example', password: 'a password of the own user' };
      await world.makeOrganization('Own', login);
      const own = await world.visit({ signedIn: false });
      await own.open('/sign-in');
      await signIn(own.page, login);
      await own.open('/live/users');
      await own.page.getByRole('button', { name: /^Actions of/ }).click();
      await own.page.getByRole('menuitem', { name: 'Edit' }).click();
      await own.page.getByRole('dialog').getByLabel('Name').fill('Renamed Owner');
      await own.page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      await own.page.getByRole('dialog').waitFor({ state: 'detached' });
      await settle(own.page);
      expect(await own.page.getByRole('complementary', { name: 'Sidebar' }).getByText('Renamed Owner').count()).toBe(1);
      await own.close();
    });

    test('that has begun outlives a click beside its dialog', async () => {
      await visit.open('/live/webhooks');
      const open = page.getByRole('button', { name: 'Add a webhook' }).first();
      const clickBeside = () => page.mouse.click(5, 5);
      await open.click();
      await dialog().waitFor();
      await clickBeside();
      await dialog().waitFor({ state: 'detached' });
      await open.click();
      await dialog().getByLabel('Address').fill('https://hooks.example.com/typed');
      await clickBeside();
      await settle(page);
      expect(await dialog().getByLabel('Address').inputValue()).toBe('https://hooks.example.com/typed');
      await page.keyboard.press('Escape');
      await dialog().waitFor({ state: 'detached' });
    });

    test('that shows a secret closes by its button only, and asks before its page is left', async () => {
      await visit.open('/live');
      await page.getByRole('link', { name: 'API keys', exact: true }).click();
      await page.getByRole('button', { name: 'Create a key' }).first().click();
      await dialog().getByLabel('Name').fill('Shown once');
      await dialog().getByRole('button', { name: 'Create the key' }).click();
      const secret = dialog().getByRole('textbox', { name: 'API key' });
      await secret.waitFor();
      await page.keyboard.press('Escape');
      await page.mouse.click(2, 2);
      expect([await secret.inputValue(), await dialog().getByRole('button', { name: 'Close' }).count()]).toEqual([
        expect.stringMatching(/^sa_/),
        0,
      ]);
      const isAsked = page.waitForEvent('dialog').then(async (question) => {
        await question.dismiss();
        return question.message();
      });
      await page.keyboard.press('Control+k');
      await page.goBack();
      expect(await isAsked).toBe('Leave without a copy? This is not shown again.');
      await page.waitForURL(/\/keys$/);
      await settle(page);
      expect([await secret.inputValue(), await dialog().count()]).toEqual([expect.stringMatching(/^sa_/), 1]);
      await dialog().getByRole('button', { name: 'Done' }).click();
      await dialog().waitFor({ state: 'detached' });
      await page.goBack();
      await page.getByRole('heading', { level: 1, name: /Welcome/ }).waitFor();
    });

    test('that is refused for a field without a place for errors says why, and is sent again', async () => {
      await visit.open('/live/keys');
      await page.getByRole('button', { name: 'Create a key' }).first().click();
      await dialog().getByLabel('Name').fill('Member key');
      await dialog().getByLabel('User', { exact: true }).selectOption('Grace Hopper (grace@demonstration.example)');
      await dialog()
        .getByRole('checkbox', { name: /^Administrator key/ })
        .check();
      const create = dialog().getByRole('button', { name: 'Create the key' });
      await create.click();
      await dialog().getByRole('alert').getByText('the user has the role member').waitFor({ timeout: 20_000 });
      await dialog()
        .getByRole('checkbox', { name: /^Administrator key/ })
        .uncheck();
      await create.click();
      await dialog().getByRole('textbox', { name: 'API key' }).waitFor({ timeout: 20_000 });
    });

    test('of a password that another window has set says why it is refused, and asks for that password', async () => {
      let hasPassword = false;
      const change = (body: Json) => ({ ...body, data: { ...(body['data'] as Json), has_password: hasPassword } });
      await rewrite(page, change, /\/api\/session$/);
      await visit.open('/live/settings');
      for (const label of ['New password', 'Repeat the password']) await page.getByLabel(label).fill('a password of two windows');
      hasPassword = true;
      await page.getByRole('button', { name: 'Set a password' }).click();
      await page.getByRole('alert').getByText('This is not your present password.').waitFor({ timeout: 20_000 });
      await page.getByLabel('Current password').waitFor({ timeout: 20_000 });
      await page.getByRole('button', { name: 'Change the password' }).click();
      await page.getByText('Enter your current password.').waitFor();
    });

    test.each<[string, string, Record<string, string>, string, string]>([
      ['keys', 'Create a key', { Name: 'Held key' }, 'Create the key', 'API key'],
      ['applications', 'Register an application', { Name: 'Held application' }, 'Register', 'Client secret'],
      ['webhooks', 'Add a webhook', { Address: 'https://hooks.example.com/held' }, 'Add the webhook', 'Signing secret'],
      ['users', 'Invite a user', { 'E-mail': 'held@demonstration.example' }, 'Create the link', 'Link'],
    ])('on the page %s shows its secret before the list is read again', async (name, opener, fields, action, secret) => {
      await visit.open(paths[name] ?? '');
      const { promise, resolve: release } = Promise.withResolvers<void>();
      for (const reads of [api, /\/api\/invitations$/])
        await page.route(reads, async (route) => {
          if (route.request().method() === 'GET') await promise;
          await route.continue();
        });
      await page.getByRole('button', { name: opener }).first().click();
      for (const [label, value] of Object.entries(fields)) await dialog().getByLabel(label).fill(value);
      if (name === 'webhooks') await dialog().getByRole('checkbox').first().check();
      await dialog().getByRole('button', { name: action }).click();
      await dialog().getByRole('textbox', { name: secret, exact: true }).waitFor({ timeout: 20_000 });
      release();
      await dialog().getByRole('button', { name: 'Done' }).click();
      await page
        .getByRole('table')
        .getByText(Object.values(fields)[0] ?? '')
        .first()
        .waitFor();
      // A waiting invitation would move the page of users of later tests.
      if (name === 'users') await page.getByRole('button', { name: /^Withdraw the invitation of held@/ }).click();
      await settle(page);
      expect(await page.getByRole('table', { name: 'Invitations' }).count()).toBe(0);
    });

    test('of the credit settings needs numbers, and sends the field that was changed', async () => {
      const bodies = await recordChanges();
      await visit.open('/live/credits');
      await page.getByRole('button', { name: 'Credit settings' }).click();
      const warn = dialog().getByLabel('Warn below this balance');
      const limit = dialog().getByLabel('Monthly limit of new users');
      const before = await limit.inputValue();
      const refusal = dialog().getByRole('alert').getByText('Enter a number.');
      const save = dialog().getByRole('button', { name: 'Save' });
      await limit.fill('');
      await save.click();
      await refusal.waitFor();
      await limit.fill(before);
      await refusal.waitFor({ state: 'detached' });
      await warn.fill('');
      await warn.pressSequentially('-');
      await save.click();
      await refusal.waitFor();
      await warn.fill('77');
      await dialog().getByRole('button', { name: 'Save' }).click();
      await dialog().waitFor({ state: 'detached' });
      expect(bodies).toEqual([{ low_balance_threshold: 77 }]);
    });
  });
