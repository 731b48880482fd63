import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { visitForEach } from './visit-for-each.ts';
import { type Json, type PagesWorld, rewrite, settle, type Visit } from './world.ts';

/** The focus after a control has removed itself, was refused, or has done something out of sight. */
export const testFocus = (started: () => PagesWorld) =>
  describe('the focus', () => {
    let world: PagesWorld;
    let paths: Record<string, string>;
    let visit: Visit;
    let page: Page;
    visitForEach(started, (opened) => {
      ({ world, paths, visit, page } = opened);
    });

    const [time, later] = ['2026-01-01T00:00:00Z', '2126-01-01T00:00:00Z'];
    const session = { created_at: time, last_used_at: time, address: '192.0.2.7', user_agent: 'Firefox/140.0 Linux' };
    const sessions = [
      { ...session, id: 'ses_1', current: true },
      { ...session, id: 'ses_2', current: false },
    ];
    const invitation = { id: 'inv_1', email: 'held@demonstration.example', role: 'member', expires_at: later };

    /** A list from which the only row that can be removed goes. */
    async function listUntilRemoved(list: RegExp, before: Json[], after: Json[]) {
      let rows = before;
      await page.route(list, (route) => route.fulfill({ json: { data: rows } }));
      await page.route(new RegExp(`${list.source.slice(0, -1)}/`), async (route) => {
        rows = after;
        await route.fulfill({ status: 204 });
      });
    }
    const withNextPage = (list: RegExp) =>
      rewrite(
        page,
        (body, { searchParams }) =>
          searchParams.has('cursor') ? body : { ...body, meta: { ...(body['meta'] as Json), next_cursor: 'next' } },
        list,
      );
    const withUnknownTable = () =>
      rewrite(
        page,
        (body) => ({ ...body, data: { ...(body['data'] as Json), data_scope: { tables: ['no_such_table'], read_only: true } } }),
        /\/v1\/agents\/[^/]+$/,
      );

    test.each<[control: string, name: string, prepare: () => Promise<unknown>, part: string]>([
      ['First page', 'agents', () => withNextPage(/\/v1\/agents\?/), 'nav[aria-label="Pages"]'],
      ['Show more', 'chat', () => withNextPage(/\/conversations\?/), 'nav[aria-label="Conversations"]'],
      ['Remove no_such_table', 'agent-edit', withUnknownTable, 'section[aria-label="Data"]'],
      [
        'Withdraw the invitation of held@demonstration.example',
        'users',
        () => listUntilRemoved(/\/api\/invitations$/, [invitation], []),
        'main',
      ],
      [
        'End the session of Firefox on Linux at 192.0.2.7',
        'settings',
        () => listUntilRemoved(/\/api\/sessions$/, sessions, sessions.slice(0, 1)),
        'section[aria-label="Sessions"]',
      ],
    ])('stays near the control that removes itself: %s', async (control, name, prepare, part) => {
      await prepare();
      await visit.open(paths[name] ?? '');
      if (control === 'First page') await page.getByRole('button', { name: 'Next' }).press('Enter');
      const button = page.getByRole('button', { name: control, exact: true });
      await button.press('Enter');
      await button.waitFor({ state: 'detached' });
      await page.locator(part).and(page.locator(':focus')).waitFor({ timeout: 5_000 });
    });

    test('stays in the conversation whose notice is dismissed', async () => {
      const error = { code: 'insufficient_credits', message: 'No credits are left.' };
      await page.route(/\/messages\/stream$/, (route) => route.fulfill({ status: 402, json: { error } }));
      await visit.open(paths['chat-new'] ?? '');
      await page.getByRole('textbox', { name: 'Message' }).fill('A question');
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'dismiss' }).press('Enter');
      await page.locator('section[aria-label="Conversation"]').and(page.locator(':focus')).waitFor({ timeout: 5_000 });
    });

    test('stays on the organization that is chosen, which is opened once', async () => {
      const person = await world.visit({ signedIn: false });
      const organizations = [{ id: 'org_1', name: 'The first', is_linked: true }];
      let opened = 0;
      await person.page.route(/\/openid-connect\/choice$/, async (route) => {
        if (route.request().method() === 'GET') return await route.fulfill({ json: { data: { organizations, return_to: '/live' } } });
        opened += 1;
      });
      await person.open('/choose-organization');
      const choice = person.page.getByRole('button', { name: /^The first/ });
      await choice.press('Enter');
      await person.page.locator('.choice .spinner').waitFor();
      await person.page.keyboard.press('Enter');
      await person.page.evaluate('new Promise(requestAnimationFrame)');
      expect([await choice.and(person.page.locator(':focus')).count(), opened]).toEqual([1, 1]);
      await person.close();
    });

    test('stays on a button that copies without a clipboard, which says how it ended', async () => {
      await page.addInitScript('Object.defineProperty(navigator, "clipboard", { value: undefined })');
      await visit.open(paths['agent-api'] ?? '');
      const copy = page.getByRole('button', { name: /^Copy: Send a message with curl|^Copied/ });
      await copy.press('Enter');
      await page.locator('[aria-live]').getByText('Copied', { exact: true }).first().waitFor({ state: 'attached', timeout: 5_000 });
      expect(await copy.and(page.locator(':focus')).count()).toBe(1);
      await page.evaluate('void (document.execCommand = () => false)');
      await copy.press('Enter');
      await page.getByText('This could not be copied.').first().waitFor({ timeout: 5_000 });
      await settle(page);
    });

    test.each([
      ['keys', 'Create a key', 'Name', 'Scopes', 'Create the key', 'Choose at least one scope.'],
      ['webhooks', 'Add a webhook', 'Address', 'Events', 'Add the webhook', 'Choose at least one event.'],
    ])('a refusal of the boxes of %s leads to them, and says why', async (name, opener, label, group, action, reason) => {
      await visit.open(paths[name] ?? '');
      await page.getByRole('button', { name: opener }).first().click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel(label, { exact: true }).fill('https://hooks.example.com/boxes');
      const boxes = dialog.getByRole('group', { name: group });
      const choice = boxes.getByRole('checkbox', { checked: true });
      while ((await choice.count()) > 0) await choice.first().click();
      await dialog.getByRole('button', { name: action }).click();
      await boxes.getByRole('alert').getByText(reason).waitFor();
      const first = boxes.getByRole('checkbox').first();
      await first.and(page.locator(':focus')).waitFor({ timeout: 10_000 });
      const described = await boxes.getAttribute('aria-describedby');
      expect(await page.locator(`[id="${described}"]`).innerText()).toBe(reason);
      // Its hint is a part of its name, and is read once.
      expect(await first.getAttribute('aria-describedby')).toBeNull();
    });
  });
