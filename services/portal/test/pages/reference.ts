import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import type { PagesWorld, Visit } from './world.ts';

const path = '/v1/credits/balance';
const tryIt = (page: Page) => page.getByRole('button', { name: /Test Request[\s\S]*\(get \/v1\/credits\/balance\)/ });
const background = (page: Page) => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');

/** The gateway's reference page, which is tested here because this suite has a browser and a system. Its tests follow one visit. */
export const testReferencePage = (started: () => PagesWorld) =>
  describe('the reference page of the API', () => {
    let world: PagesWorld;
    let visit: Visit;
    let page: Page;
    beforeAll(async () => {
      world = started();
      visit = await world.visit({ signedIn: false });
      ({ page } = visit);
      await page.goto(`${world.system.url}/docs`);
    });
    afterAll(() => visit?.close());

    test('its search finds an operation and leads to it', async () => {
      await page.getByRole('button', { name: 'Search' }).first().click();
      await page.keyboard.type('credit balance');
      await page.getByRole('option', { name: path }).click();
      await tryIt(page).waitFor();
      expect(new URL(page.url()).hash).toBe(`#tag/credits/GET${path}`);
    });

    test('an operation has a sample in three languages', async () => {
      const operation = page.locator('section', { has: tryIt(page) }).last();
      const samples = { TypeScript: "from '@agent-service/client'", Python: 'from agent_service import', curl: 'curl -X GET' };
      for (const [language, text] of Object.entries(samples)) {
        await operation.getByRole('button', { name: /Change code sample language/ }).click();
        expect(await page.getByRole('option').allInnerTexts()).toEqual(['curl', 'TypeScript', 'Python']);
        await page.getByRole('option', { name: language, exact: true }).click();
        await operation.getByText(text).first().waitFor();
      }
    });

    test('"try it" sends a request with the reader’s key, and shows the answer', async () => {
      await tryIt(page).click();
      const dialog = page.getByRole('dialog').last();
      const token = dialog.getByLabel('Token').or(dialog.getByPlaceholder('Token'));
      await dialog.locator('input').and(token).fill(world.key);
      const answer = page.waitForResponse(`${world.system.url}${path}`);
      await dialog.getByRole('button', { name: 'Send' }).last().click();
      expect((await answer).status()).toBe(200);
      await dialog.getByText('200 OK').first().waitFor();
      await dialog.getByText('"unallocated"').first().waitFor();
      await dialog.getByRole('button', { name: 'Close Client' }).click();
    });

    test('it is dark where the reader’s system is, until its switch says otherwise', async () => {
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.locator('body.dark-mode').waitFor();
      expect(await background(page)).toBe('rgb(15, 15, 15)');
      await page.getByRole('button', { name: /(light|dark) mode/i }).click();
      await page.locator('body.light-mode').waitFor();
      expect(await background(page)).toBe('rgb(255, 255, 255)');
    });

    test('no script fails, and none asks for what its policy refuses', () => {
      // Attributes with styles are refused, which shows nowhere (docs/decisions/0114).
      expect(visit.problems.filter((problem) => !problem.startsWith('Applying inline style'))).toEqual([]);
    });
  });
