import { describe, expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { visitForEach } from './visit-for-each.ts';
import { type PagesWorld, settle, signIn, type Visit } from './world.ts';

interface PageGlobals {
  getComputedStyle(element: unknown): { getPropertyValue(name: string): string };
}

/** Run in the page, before its own scripts. */
function blockStorage() {
  const block = {
    get: () => {
      throw new DOMException('The operation is insecure.', 'SecurityError');
    },
  };
  for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(globalThis, name, block);
}

/** Run in the page, before its own scripts. */
function fillStorage() {
  const storage = (globalThis as unknown as { Storage: { prototype: object } }).Storage;
  Object.defineProperty(storage.prototype, 'setItem', {
    value: () => {
      throw new DOMException('The quota has been exceeded.', 'QuotaExceededError');
    },
  });
}

/** Browsers that are set up otherwise than most. */
export const testModes = (started: () => PagesWorld) =>
  describe('in a browser', () => {
    let world: PagesWorld;
    let paths: Record<string, string>;
    let visit: Visit;
    let page: Page;
    visitForEach(started, (opened) => {
      ({ world, paths, visit, page } = opened);
    });

    const styleOf = (locator: Locator, name: string) =>
      locator.evaluate(
        (element, property) => (globalThis as unknown as PageGlobals).getComputedStyle(element).getPropertyValue(property),
        name,
      );

    test('with forced colors, what is selected and the bars of a chart can be seen', async () => {
      await page.emulateMedia({ forcedColors: 'active' });
      await visit.open(paths['credits'] ?? '');
      for (const [selected, other] of [
        [page.getByRole('link', { name: 'Live', exact: true }), page.getByRole('link', { name: 'Test', exact: true })],
        [page.getByRole('button', { name: 'Day', exact: true }), page.getByRole('button', { name: 'Week', exact: true })],
        [page.getByRole('link', { name: 'Usage', exact: true }), page.getByRole('link', { name: 'Allocations', exact: true })],
        [page.getByRole('link', { name: 'Credits', exact: true }), page.getByRole('link', { name: 'Agents', exact: true })],
      ] as const) {
        const colors = [await styleOf(selected, 'background-color'), await styleOf(other, 'background-color')];
        expect([await selected.innerText(), colors[0] === colors[1]]).toEqual([await selected.innerText(), false]);
      }
      await visit.open(paths['home'] ?? '');
      const bar = page.locator('.bars-fill').last();
      expect(await styleOf(bar, 'background-color')).not.toBe(await styleOf(page.locator('.card').first(), 'background-color'));
    });

    test('that prints, a conversation stands on paper without what surrounds it', async () => {
      await visit.open(paths['chat'] ?? '');
      await page.emulateMedia({ media: 'print' });
      await page.getByRole('article', { name: 'Answer' }).waitFor();
      for (const hidden of ['.sidebar', '.chat-side', '.composer', '.answer-foot .button'])
        expect([hidden, await page.locator(hidden).first().isVisible()]).toEqual([hidden, false]);
      expect(await styleOf(page.getByRole('log'), 'overflow-y')).toBe('visible');
    });

    test('with a zoom of 400 %, the messages are legible and no page scrolls sideways', async () => {
      await page.setViewportSize({ width: 320, height: 200 });
      await visit.open(paths['chat'] ?? '');
      expect((await page.getByRole('log').boundingBox())?.height).toBeGreaterThan(120);
      for (const name of ['audit', 'credits', 'keys', 'data-source']) {
        await visit.open(paths[name] ?? '');
        expect([name, await page.evaluate<number>('document.documentElement.scrollWidth')]).toEqual([name, 320]);
      }
    });

    test.each<[string, () => void]>([
      ['blocks storage', blockStorage],
      ['has no space left for storage', fillStorage],
    ])('that %s, a person signs in and chooses a theme', async (_, limitStorage) => {
      const other = await world.visit({ signedIn: false });
      await other.context.addInitScript(limitStorage);
      await other.open('/sign-in');
      await signIn(other.page, world.login);
      await other.page.getByRole('button', { name: 'Administrator' }).click();
      await other.page.getByRole('menuitem', { name: 'Theme: system' }).click();
      expect(await other.page.locator('html').getAttribute('data-theme')).toBe('light');
      await settle(other.page);
      expect(other.problems).toEqual([]);
      await other.close();
    });
  });
