import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { type Json, type PagesWorld, sharedPaths, type Visit } from './world.ts';

/** Two users at once, lost replies and slow ones. */
export const testChanges = (started: () => PagesWorld) =>
  describe('a change', () => {
    let world: PagesWorld;
    let paths: Record<string, string>;
    let visit: Visit;
    let page: Page;
    beforeAll(async () => {
      world = started();
      paths = await sharedPaths(world);
    });
    beforeEach(async () => {
      visit = await world.visit();
      page = visit.page;
    });
    afterEach(async () => {
      expect(visit.problems).toEqual([]);
      await visit.close();
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

    test('of the credit settings sends the field that was changed', async () => {
      const bodies = await recordChanges();
      await visit.open('/live/credits');
      await page.getByRole('button', { name: 'Credit settings' }).click();
      await dialog().getByLabel('Warn below this balance').fill('77');
      await dialog().getByRole('button', { name: 'Save' }).click();
      await dialog().waitFor({ state: 'detached' });
      expect(bodies).toEqual([{ low_balance_threshold: 77 }]);
    });
  });
