import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { keyboard } from './input-methods.ts';
import { type BusinessDatabase, businessDatabase, type PagesWorld, settle, type Visit } from './world.ts';

export const testJourney = (started: () => PagesWorld) =>
  describe('a day in the portal', () => {
    let world: PagesWorld;
    let visit: Visit;
    let business: BusinessDatabase;
    let page: Page;
    let apiKey = '';
    beforeAll(async () => {
      world = started();
      [visit, business] = await Promise.all([world.visit({ signedIn: false }), businessDatabase()]);
      page = visit.page;
    });
    afterAll(async () => {
      await visit?.close();
      await business?.drop();
    });

    test('a page leads to the sign-in and back; a wrong password is refused in words', async () => {
      await visit.open('/live/keys');
      expect(new URL(page.url()).pathname).toBe('/sign-in');
      await page.getByLabel('E-mail').fill(world.login.email);
      await page.getByLabel('Password').fill('not the password');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('alert').waitFor();
      await page.getByLabel('Password').fill(world.login.password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'API keys' }).waitFor();
      expect(new URL(page.url()).pathname).toBe('/live/keys');
    });

    test('a key is made, shown once, and works on the API', async () => {
      await page.getByRole('button', { name: 'Create a key' }).first().click();
      await page.getByRole('button', { name: 'Create the key' }).click();
      await page.getByText('Enter a name.').waitFor();
      await page.getByLabel('Name', { exact: true }).fill('Journey');
      await page.getByRole('button', { name: 'Create the key' }).click();
      apiKey = await page.getByRole('textbox', { name: 'API key' }).inputValue();
      await page.getByRole('button', { name: 'Done' }).click();
      expect(await page.content()).not.toContain(apiKey);
      expect((await world.call('GET', '/v1/agents', undefined, apiKey)).status).toBe(200);
    });

    test('a template is activated', async () => {
      await visit.open('/live/templates');
      await page.getByRole('link', { name: 'Customer insights' }).click();
      await page.getByRole('button', { name: 'Activate' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Activate' }).click();
      await page.getByRole('heading', { level: 1, name: /Customer insights.*Active/ }).waitFor();
    });

    test('the chat shows a table, a chart and the queries behind the answer', async () => {
      await page.getByRole('link', { name: 'Chat', exact: true }).last().click();
      await page.getByRole('textbox', { name: 'Message' }).fill('How many customers do we have by segment?');
      await page.keyboard.press('Enter');
      const answer = page.getByRole('article', { name: 'Answer' });
      await answer.waitFor({ timeout: 30_000 });
      await answer.locator('.chart-frame svg').waitFor();
      expect(await answer.locator('.prose > .table-scroll table tr').count()).toBeGreaterThan(2);
      await answer.getByText(/behind this answer/).click();
      expect(await answer.locator('.queries pre').first().innerText()).toMatch(/select/i);
      // However long the answers are, the box for the next message stays in the window.
      const { y = 0, height = 0 } = (await page.getByRole('textbox', { name: 'Message' }).boundingBox()) ?? {};
      expect([y > 0, y + height <= (page.viewportSize()?.height ?? 0)]).toEqual([true, true]);
      const { pathname } = new URL(page.url());
      await page.reload();
      await answer.waitFor();
      expect(new URL(page.url()).pathname).toBe(pathname);
      await page.getByRole('link', { name: /How many customers/ }).waitFor();
    });

    test('credits are allocated, and the usage of the answer is seen', async () => {
      await visit.open('/live/credits?tab=allocations');
      await page
        .getByRole('button', { name: /Allocate credits to/ })
        .first()
        .click();
      await page.getByLabel('Credits a month').fill('-1');
      await page.getByRole('button', { name: 'Allocate', exact: true }).click();
      await page.getByRole('dialog').getByRole('alert').waitFor();
      await page.getByLabel('Credits a month').fill('40000');
      await page.getByRole('button', { name: 'Allocate', exact: true }).click();
      await page.getByRole('cell', { name: '40,000' }).first().waitFor();
      await page.getByRole('link', { name: 'Usage', exact: true }).click();
      await page.getByText(/[1-9]\d* credits? in 1 answer/).waitFor();
      await page.locator('.chart-frame svg').waitFor();
    });

    test('an agent gets a scope of columns, and its page shows what it sees', async () => {
      await visit.open('/live/agents/new');
      await page.getByLabel('Name', { exact: true }).fill('Narrow');
      await page.getByLabel('Instructions').fill('Answer from the names of customers.');
      await page.getByRole('button', { name: /^customers/ }).click();
      for (const column of ['id', 'name'])
        await page
          .getByRole('checkbox', { name: new RegExp(`^${column} `) })
          .first()
          .check();
      await page.getByRole('button', { name: 'Create the agent' }).click();
      await page.getByText('customers(id, name)').waitFor();
      await page.getByRole('link', { name: 'Visible data' }).click();
      await page.getByText('7 columns hidden').waitFor();
      await page.getByRole('button', { name: 'Make active' }).click();
      await page.getByText('Active', { exact: true }).waitFor();
    });

    test('an agent is deleted only by its name', async () => {
      await page.getByRole('button', { name: 'Actions of Narrow' }).click();
      await page.getByRole('menuitem', { name: 'Delete' }).click();
      const confirm = page.getByRole('button', { name: 'Delete the agent' });
      expect(await confirm.isDisabled()).toBe(true);
      await page.getByRole('dialog').getByRole('textbox').fill('Narrow');
      await confirm.click();
      await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
      await settle(page);
      expect(await page.getByRole('link', { name: 'Narrow' }).count()).toBe(0);
    });

    test('a name is confirmed as it is shown, with any white space and either form of an accent', async () => {
      const agent = { name: 'Cafe\u0301  EU\u00a0North', system_prompt: 'Answer.', data_scope: { tables: ['customers'] } };
      expect((await world.call('POST', '/v1/agents', agent)).status).toBe(201);
      await visit.open('/live/agents');
      await page.getByRole('button', { name: /^Actions of Cafe/ }).click();
      await page.getByRole('menuitem', { name: 'Delete' }).click();
      const confirm = page.getByRole('button', { name: 'Delete the agent' });
      await page.getByRole('dialog').getByRole('textbox').fill('Caf\u00e9 EUNorth');
      expect(await confirm.isDisabled()).toBe(true);
      await page.getByRole('dialog').getByRole('textbox').fill('Caf\u00e9 EU North');
      expect(await confirm.isEnabled()).toBe(true);
      await confirm.click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await settle(page);
      expect(await page.getByRole('link', { name: /^Cafe/ }).count()).toBe(0);
    });

    test('a data source is tested and connected, an agent gets some of its columns, and it is disconnected again', async () => {
      const { Host: host, Port: port, Database: database, User: user, Password: password } = business.fields;
      await visit.open('/test/data-source');
      await page.getByRole('button', { name: /^(Replace|Connect a database)$/ }).click();
      const dialog = page.getByRole('dialog');
      for (const [label, value] of Object.entries({ ...business.fields, User: `${user}_stranger` }))
        await dialog.getByLabel(label, { exact: true }).fill(value);
      await dialog.getByLabel('Encryption').selectOption('disable');
      await dialog.getByRole('button', { name: 'Test' }).click();
      await dialog
        .getByRole('alert')
        .getByText(/refuses the account/)
        .waitFor();
      await dialog.getByLabel('User', { exact: true }).fill(user);
      await dialog.getByRole('button', { name: 'Test' }).click();
      await dialog.getByText(/answers in .* the account can read 1 table/).waitFor();
      await dialog.getByRole('button', { name: /^(Replace|Connect)$/ }).click();
      await page.getByText('The database is connected.', { exact: true }).first().waitFor();
      await page.getByText(`${host}:${port}`).waitFor();
      await page.getByRole('cell', { name: 'parcels' }).waitFor();
      await page.getByRole('button', { name: 'Test the connection' }).click();
      await page.getByText(/answers in .* the account can read 1 table/).waitFor();
      expect(await page.content()).not.toContain(password);

      await visit.open('/test/agents/new');
      await page.getByLabel('Name', { exact: true }).fill('Parcels');
      await page.getByLabel('Instructions').fill('Answer from the parcels.');
      await page.getByRole('button', { name: /^parcels/ }).click();
      for (const column of ['id', 'weight'])
        await page
          .getByRole('checkbox', { name: new RegExp(`^${column} `) })
          .first()
          .check();
      await page.getByRole('button', { name: 'Create the agent' }).click();
      await page.getByText('parcels(id, weight)').waitFor();

      await visit.open('/test/data-source');
      await page.getByRole('button', { name: 'Disconnect' }).click();
      await dialog.getByRole('textbox').fill(database);
      await dialog.getByRole('button', { name: 'Disconnect' }).click();
      await page.getByText('No database is connected').waitFor();
    });

    test('the key is revoked, and the API refuses it', async () => {
      await visit.open('/live/keys');
      await page.getByRole('button', { name: 'Actions of Journey' }).click();
      await page.getByRole('menuitem', { name: 'Revoke' }).click();
      await page.getByRole('dialog').getByRole('textbox').fill('Journey');
      await page.getByRole('button', { name: 'Revoke the key' }).click();
      await page.getByText('The key was revoked.', { exact: true }).first().waitFor();
      expect((await world.call('GET', '/v1/agents', undefined, apiKey)).status).toBe(401);
    });

    test('the first Tab leads to the content, and a menu gives the focus back', async () => {
      await visit.open('/live/agents');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      expect(await page.evaluate('document.activeElement?.id')).toBe('main');
      const opener = page.getByRole('button', { name: /^Actions of/ }).first();
      await keyboard.press(opener);
      await page.getByRole('menuitem', { name: 'Edit' }).waitFor();
      await page.keyboard.press('Escape');
      await page.locator('button[aria-label^="Actions of"]:focus').waitFor();
    });

    test('no script failed, and the policy refused nothing', () => {
      expect(visit.problems).toEqual([]);
    });
  });
