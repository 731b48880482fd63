import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type PagesWorld, settle, signIn, type Visit } from './world.ts';

/** Browsers that are set up otherwise than most. */
export const testModes = (started: () => PagesWorld) =>
  describe('in a browser', () => {
    let world: PagesWorld;
    let visit: Visit;
    beforeAll(() => {
      world = started();
    });
    beforeEach(async () => {
      visit = await world.visit();
    });
    afterEach(async () => {
      expect(visit.problems).toEqual([]);
      await visit.close();
    });

    test('that blocks storage, a person signs in and chooses a theme', async () => {
      const other = await world.visit({ signedIn: false });
      await other.context.addInitScript(() => {
        const block = {
          get: () => {
            throw new DOMException('The operation is insecure.', 'SecurityError');
          },
        };
        for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(globalThis, name, block);
      });
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
