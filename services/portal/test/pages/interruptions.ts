import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { visitForEach } from './visit-for-each.ts';
import { type PagesWorld, settle, type Visit } from './world.ts';

/** Changes that the network, the clock or a different user makes below an open page. */
export const testInterruptions = (started: () => PagesWorld) =>
  describe('an open page', () => {
    let visit: Visit;
    let page: Page;
    visitForEach(started, (opened) => {
      ({ visit, page } = opened);
    });

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
  });
