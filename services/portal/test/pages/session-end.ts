import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { makePerson, type PagesWorld, settle, signIn, type Visit } from './world.ts';

/** A mark in the memory of the document, as replies and answers are. */
const mark = (page: Page) => page.evaluate('void (globalThis.isMarked = true)');
const isMarked = (page: Page) => page.evaluate<boolean>('globalThis.isMarked === true');

/** Everything that a user has read is in the memory of the document: a new document has none of it. */
export const testSessionEnd = (started: () => PagesWorld) =>
  describe('after the end of a session', () => {
    let world: PagesWorld;
    let agent: string;
    let first: PagesWorld['login'];
    let second: PagesWorld['login'];
    beforeAll(async () => {
      world = started();
      const read = async (...request: Parameters<PagesWorld['call']>) => JSON.parse((await world.call(...request)).text).data;
      const scope = { name: 'Agent of the first user', system_prompt: 'Answer.', data_scope: { tables: ['customers'] } };
      ({ id: agent } = await read('POST', '/v1/agents', scope));
      await read('PATCH', `/v1/agents/${agent}`, { status: 'active' });
      [first, second] = [await makePerson(world, 'First Person'), await makePerson(world, 'Second Person')];
    });

    /** A chat of the first user with an answer that does not end. */
    async function leaveAnswerOpen(visit: Visit) {
      await visit.open('/sign-in');
      await signIn(visit.page, first);
      await visit.page.route(/\/messages\/stream$/, () => undefined);
      await visit.open(`/live/chat/${agent}`);
      await visit.page.getByRole('textbox', { name: 'Message' }).fill('A question of the first user');
      await visit.page.keyboard.press('Enter');
      await visit.page.getByText('A question of the first user').first().waitFor();
      await mark(visit.page);
    }

    async function expectForgotten(visit: Visit) {
      const { page } = visit;
      await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
      expect(await isMarked(page)).toBe(false);
      await page.getByLabel('E-mail').fill(second.email);
      await page.getByLabel('Password').fill(second.password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('button', { name: 'Second Person' }).waitFor();
      await visit.open(`/live/chat/${agent}`);
      expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('');
      expect(await page.getByText('A question of the first user').count()).toBe(0);
      expect(await page.evaluate('sessionStorage.getItem("agent-service-unsent")')).toBe(null);
      // Back leads to no page as the first user left it.
      await page.goBack();
      await page.goBack().catch(() => undefined);
      expect([await isMarked(page), await page.getByText('First Person').count()]).toEqual([false, 0]);
      expect(visit.problems).toEqual([]);
    }

    test.each<[string, (visit: Visit) => Promise<void>]>([
      [
        'by a sign-out',
        async ({ page }) => {
          await page.getByRole('button', { name: 'First Person' }).click();
          await page.getByRole('menuitem', { name: 'Sign out' }).click();
        },
      ],
      [
        'that a request notices',
        async ({ page, context }) => {
          await context.clearCookies();
          await page.getByRole('link', { name: 'Templates', exact: true }).click();
        },
      ],
      [
        'that a form notices',
        async ({ page, context }) => {
          await page.getByRole('button', { name: 'First Person' }).click();
          await page.getByRole('menuitem', { name: 'Settings' }).click();
          await page.getByLabel('Current password').fill('any');
          for (const label of ['New password', 'Repeat the password']) await page.getByLabel(label).fill('a quite different phrase');
          await context.clearCookies();
          await page.getByRole('button', { name: 'Change the password' }).click();
        },
      ],
    ])('%s, the next user of the tab meets nothing of the last one', async (_, end) => {
      const visit = await world.visit({ signedIn: false });
      await leaveAnswerOpen(visit);
      await end(visit);
      await expectForgotten(visit);
      await visit.close();
    });

    test('the same user finds again what was typed and not sent', async () => {
      const visit = await world.visit({ signedIn: false });
      const { page, context } = visit;
      const signInAgain = async () => {
        await page.getByLabel('E-mail').fill(world.login.email);
        await page.getByLabel('Password').fill(world.login.password);
        await page.getByRole('button', { name: 'Sign in' }).click();
      };
      await visit.open('/sign-in');
      await signIn(page, world.login);
      await visit.open(`/live/chat/${agent}`);
      const box = page.getByRole('textbox', { name: 'Message' });
      await box.fill('A question that took long to write');
      await context.clearCookies();
      await page.keyboard.press('Enter');
      await signInAgain();
      // Another request may have noticed the end while the message was under way.
      await page.getByText('The reply to this message did not arrive.').waitFor();
      expect([await page.getByText('A question that took long to write', { exact: true }).count(), await box.inputValue()]).toEqual([
        1,
        '',
      ]);
      await page.getByRole('button', { name: 'dismiss' }).click();
      expect(await box.inputValue()).toBe('A question that took long to write');
      await context.clearCookies();
      await page.getByRole('link', { name: 'Templates', exact: true }).click();
      await signInAgain();
      await page.getByRole('heading', { level: 1, name: 'Templates' }).waitFor();
      await page.getByRole('link', { name: 'Chat', exact: true }).click();
      await page.getByLabel('Agent', { exact: true }).selectOption(agent);
      await box.waitFor();
      expect(await box.inputValue()).toBe('A question that took long to write');
      await visit.open(`/live/agents/${agent}/edit`);
      await page.getByLabel('Instructions').fill('Instructions that took long to write');
      await context.clearCookies();
      await page.getByRole('button', { name: 'Save' }).click();
      await signInAgain();
      await page.getByText('Your unsaved changes are back.').first().waitFor();
      expect(await page.getByLabel('Instructions').inputValue()).toBe('Instructions that took long to write');
      const isSaved = page.waitForRequest((request) => request.method() === 'PATCH');
      await page.getByRole('button', { name: 'Save' }).click();
      expect((await isSaved).postDataJSON()).toEqual({ system_prompt: 'Instructions that took long to write' });
      await page.getByRole('heading', { level: 1, name: 'Agent of the first user' }).waitFor();
      expect(visit.problems).toEqual([]);
      await visit.close();
    });

    test('by a sign-out, unsaved changes of an agent are asked for first, and once', async () => {
      const visit = await world.visit({ signedIn: false });
      const { page } = visit;
      await visit.open('/sign-in');
      await signIn(page, world.login);
      await visit.open(`/live/agents/${agent}/edit`);
      await page.getByLabel('Instructions').fill('Instructions that are not saved');
      const account = page.locator('button.account').first();
      const events: string[] = [];
      let isAccepted = false;
      page.on('dialog', (question) => {
        events.push(question.type());
        return isAccepted ? question.accept() : question.dismiss();
      });
      page.on('request', (request) => void (request.method() === 'DELETE' && events.push('DELETE')));
      await account.click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      await page.getByRole('menu').waitFor({ state: 'detached' });
      await settle(page);
      expect(events).toEqual(['confirm']);
      isAccepted = true;
      await account.click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
      expect(events).toEqual(['confirm', 'confirm', 'DELETE']);
      await visit.close();
    });

    test('everywhere, each browser of the user is at the sign-in', async () => {
      const [visit, other] = [await world.visit({ signedIn: false }), await world.visit({ signedIn: false })];
      await leaveAnswerOpen(visit);
      await other.open('/sign-in');
      await signIn(other.page, first);
      await other.open('/live/agents');
      await visit.page.getByRole('button', { name: 'First Person' }).click();
      await visit.page.getByRole('menuitem', { name: 'Settings' }).click();
      await visit.page.getByRole('cell', { name: /This one/ }).waitFor();
      await visit.page.getByRole('button', { name: 'Sign out everywhere' }).click();
      await visit.page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere' }).click();
      await expectForgotten(visit);
      await other.page.getByRole('link', { name: 'Templates', exact: true }).click();
      await other.page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
      for (const each of [visit, other]) await each.close();
    });

    const thresholdLabel = 'Warn below this balance';
    const savedThreshold = async () =>
      (await world.call('GET', '/v1/credits/settings')).json<{ data: { low_balance_threshold: number } }>().data.low_balance_threshold;

    /** Saves a change of the administrator after a user has signed in in another tab. */
    async function signInBesideChange(login: PagesWorld['login'], threshold: number) {
      const visit = await world.visit({ signedIn: false });
      const { page, context } = visit;
      await visit.open('/sign-in');
      await signIn(page, world.login);
      await visit.open('/live/credits');
      await page.getByRole('button', { name: 'Credit settings' }).click();
      await page.getByLabel(thresholdLabel).fill(String(threshold));
      await mark(page);
      const tab = await context.newPage();
      await context.clearCookies();
      await tab.goto('/sign-in');
      await signIn(tab, login);
      const sent: string[] = [];
      page.on('request', (request) => void (request.method() === 'PATCH' && sent.push(request.url())));
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      return { ...visit, sent };
    }

    test('and a new sign-in of the user in another tab, changes go on', async () => {
      const visit = await signInBesideChange(world.login, 4_321);
      const { page } = visit;
      await page.getByText('The settings are saved.', { exact: true }).first().waitFor();
      expect([await savedThreshold(), await isMarked(page)]).toEqual([4_321, true]);
      expect(visit.problems).toEqual([]);
      await visit.close();
    });

    test('and a sign-in of another user in another tab, a change is not made in the name of that user', async () => {
      const visit = await signInBesideChange(second, 1_234);
      await visit.page.getByRole('heading', { level: 1, name: 'Welcome, Second' }).waitFor();
      expect([await savedThreshold(), visit.sent.length, await isMarked(visit.page)]).toEqual([4_321, 1, false]);
      await visit.close();
    });

    test('in one tab, and a sign-in of another user there, the other tabs begin again', async () => {
      const visit = await world.visit({ signedIn: false });
      await leaveAnswerOpen(visit);
      const { page, context } = visit;
      const tab = await context.newPage();
      await context.clearCookies();
      await tab.goto('/sign-in');
      await signIn(tab, second);
      // As when the user comes back to the first tab, later than a reply is kept.
      await page.evaluate(() => {
        const now = Date.now;
        Date.now = () => now() + 120_000;
        (globalThis as unknown as { dispatchEvent(event: Event): void }).dispatchEvent(new Event('visibilitychange'));
      });
      await page.getByRole('heading', { level: 1, name: 'Welcome, Second' }).waitFor();
      expect(await isMarked(page)).toBe(false);
      await visit.close();
    });
  });
