import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { violationsInThemes } from './accessibility.ts';
import { type Json, makePerson, type PagesWorld, rewrite, signIn, type Visit } from './world.ts';

const email = 'lin@demonstration.example';
const firstPassword = 'a first long password';
const secondPassword = 'a second long password';

/** The code that an authenticator app shows (RFC 6238), some steps of 30 seconds from now. */
function codeOf(secret: string, stepsAhead: number): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...secret].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + stepsAhead));
  const mac = createHmac('sha1', key).update(counter).digest();
  const number = mac.readUInt32BE((mac.at(-1) ?? 0) & 15) & 0x7fff_ffff;
  return String(number % 1_000_000).padStart(6, '0');
}

/** The status of a request that the page itself sends, with its session. */
const statusOf = (page: Page, method: string, path: string, token: string) =>
  page.evaluate(
    async ([sentMethod, sentPath, csrf]) =>
      (
        await fetch(sentPath, {
          method: sentMethod,
          headers: { 'x-csrf-token': csrf, 'content-type': 'application/json' },
          ...(sentMethod === 'GET' ? {} : { body: '{}' }),
        })
      ).status,
    [method, path, token] as const,
  );

export const testPeople = (started: () => PagesWorld) =>
  describe('the people of an organization', () => {
    let world: PagesWorld;
    let administrator: Visit;
    let member: Visit;
    beforeAll(async () => {
      world = started();
      administrator = await world.visit();
      member = await world.visit({ signedIn: false });
    });
    afterAll(async () => {
      await administrator?.close();
      await member?.close();
    });

    const createdLink = async () => {
      const link = await administrator.page.getByRole('textbox', { name: 'Link' }).inputValue();
      await administrator.page.getByRole('button', { name: 'Done' }).click();
      return new URL(link);
    };

    test('an invitation leads to an account, once', async () => {
      await administrator.open('/live/users');
      await administrator.page.getByRole('button', { name: 'Invite a user' }).click();
      await administrator.page.getByLabel('E-mail').fill(email);
      await administrator.page.getByRole('button', { name: 'Create the link' }).click();
      const { pathname, search } = await createdLink();
      await member.open(pathname + search);
      await member.page.getByRole('heading', { name: /^Join / }).waitFor();
      expect(await violationsInThemes(member.page)).toEqual([]);
      await member.page.getByLabel('Your name').fill('Lin');
      await member.page.getByLabel('New password').fill(firstPassword);
      await member.page.getByLabel('Repeat the password').fill('another password');
      await member.page.getByRole('button', { name: 'Create the account' }).click();
      await member.page.getByText('The two passwords differ.').waitFor();
      await member.page.getByLabel('Repeat the password').fill(firstPassword);
      await member.page.getByRole('button', { name: 'Create the account' }).click();
      await member.page.getByRole('heading', { level: 1, name: /Welcome/ }).waitFor();
      const late = await world.visit({ signedIn: false });
      await late.open(pathname + search);
      await late.page.getByRole('alert').waitFor();
      await late.close();
    });

    test('a member reaches no page and no call of an administrator', async () => {
      const { page } = member;
      const created = await world.call('POST', '/v1/webhooks', { url: 'https://hooks.example.com/people', events: ['agent.created'] });
      const webhook = `webhooks/${JSON.parse(created.text).data.id}`;
      await administrator.open(`/live/${webhook}`);
      await administrator.page.getByRole('button', { name: 'Actions of the webhook' }).waitFor();
      for (const path of ['keys', 'applications', 'webhooks', webhook, 'data-source', 'users', 'audit', 'agents/new', 'agents/any/edit']) {
        await member.open(`/live/${path}`);
        await page.getByRole('heading', { name: 'This page does not exist' }).waitFor();
      }
      await world.call('DELETE', `/v1/${webhook}`);
      await member.open('/live');
      for (const name of ['API keys', 'Users', 'Audit log']) expect(await page.getByRole('link', { name, exact: true }).count()).toBe(0);
      await page.keyboard.press('Control+k');
      await page.getByRole('option', { name: 'Agents', exact: true }).waitFor();
      expect(await page.getByRole('option', { name: 'Create an agent' }).count()).toBe(0);
      await page.keyboard.press('Escape');
      const session = await page.evaluate(
        async () => (await (await fetch('/api/session')).json()) as { data: { csrf_token: string; user: object } },
      );
      expect(session.data.user).toMatchObject({ role: 'member', email });
      for (const [method, path] of [
        ['GET', '/api/live/v1/users'],
        ['GET', '/api/live/v1/audit'],
        ['GET', '/api/live/v1/keys'],
        ['POST', '/api/live/v1/keys'],
        ['POST', '/api/live/v1/users'],
        ['PATCH', '/api/live/v1/credits/settings'],
        ['GET', '/api/invitations'],
        ['POST', '/api/invitations'],
        ['GET', '/api/live/data-source'],
        ['PUT', '/api/live/data-source'],
        ['DELETE', '/api/test/data-source'],
      ] as const)
        expect([method, path, await statusOf(page, method, path, session.data.csrf_token)]).toEqual([method, path, 403]);
      expect(await statusOf(page, 'GET', '/api/live/v1/agents', session.data.csrf_token)).toBe(200);
    });

    test('a member reads without agents who can change that, and is led to no page that cannot', async () => {
      const { page } = member;
      const agents = /\/v1\/agents\?/;
      await rewrite(page, (body) => ({ data: [], meta: { ...(body['meta'] as Json), total: 0, next_cursor: null } }), agents);
      for (const path of ['chat', 'agents']) {
        await member.open(`/live/${path}`);
        const main = page.getByRole('main');
        await main.getByText('An administrator has to make an agent active first.').waitFor({ timeout: 10_000 });
        expect([path, await main.getByRole('link', { name: 'Browse templates' }).count()]).toEqual([path, 0]);
      }
      await page.unroute(agents);
    });

    test('a new member reads when credits are set aside, and a member with an allocation that they are', async () => {
      const { page } = member;
      await member.open('/live/credits');
      const figure = page.locator('.figure').filter({ hasText: 'Your balance' });
      await figure.getByText('Filled by a message, up to your limit, from what the organization has').waitFor();
      const id = await page.evaluate(
        async () => ((await (await fetch('/api/session')).json()) as { data: { user: { id: string } } }).data.user.id,
      );
      await world.call('PUT', `/v1/credits/users/${id}/allocation`, { monthly_limit: 40 });
      await page.reload();
      await figure.getByText('40', { exact: true }).waitFor();
      expect(await figure.innerText()).toContain('Credits that are set aside for you');
    });

    test('a link of an administrator sets a new password, and ends the sessions of the user', async () => {
      await administrator.open('/live/users');
      await administrator.page.getByRole('button', { name: 'Actions of Lin' }).click();
      await administrator.page.getByRole('menuitem', { name: /password/i }).click();
      await administrator.page.getByRole('dialog').getByRole('button', { name: 'Create the link' }).click();
      const { pathname, search } = await createdLink();
      const reset = await world.visit({ signedIn: false });
      await reset.open(pathname + search);
      await reset.page.getByLabel('New password').fill(secondPassword);
      await reset.page.getByLabel('Repeat the password').fill(secondPassword);
      await reset.page.getByRole('button', { name: 'Set the password' }).click();
      await reset.page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
      await member.open('/live/agents');
      expect(new URL(member.page.url()).pathname).toBe('/sign-in');
      await reset.page.getByLabel('E-mail').fill(email);
      await reset.page.getByLabel('Password').fill(firstPassword);
      await reset.page.getByRole('button', { name: 'Sign in' }).click();
      await reset.page.getByRole('alert').waitFor();
      expect(reset.problems).toEqual([]);
      await reset.close();
      await member.open('/sign-in');
      await signIn(member.page, { email, password: secondPassword });
    });

    test('a user who is deactivated is said to lose keys and applications', async () => {
      const { page } = administrator;
      const user = /\/v1\/users\/[^/]+$/;
      await page.route(user, (route) => route.fulfill({ json: { data: { ended_credentials: { api_keys: 1, oauth_applications: 2 } } } }));
      await administrator.open('/live/users');
      await page.getByRole('button', { name: 'Actions of Lin' }).click();
      await page.getByRole('menuitem', { name: 'Deactivate' }).click();
      await page.getByRole('dialog').getByRole('textbox').fill('Lin');
      await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click();
      await page.locator('.toast').getByText('Lin is deactivated; 1 key and 2 applications ended.').waitFor({ timeout: 20_000 });
      await page.unroute(user);
    });

    test('with a second factor a password alone does not sign in', async () => {
      const { page } = member;
      await member.open('/live/settings');
      await page.getByRole('button', { name: 'Set up' }).click();
      await page.getByLabel('Your password').fill('not the password');
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByText('This is not your present password.').waitFor();
      await page.getByLabel('Your password').fill(secondPassword);
      await page.getByRole('button', { name: 'Continue' }).click();
      const secret = await page.getByRole('textbox', { name: /Secret/ }).inputValue();
      // Authenticator apps show a code in two groups, and some copy it so.
      await page.getByLabel('Code', { exact: true }).focus();
      await page.keyboard.insertText(codeOf(secret, 0).replace(/^.../, '$& '));
      await page.getByRole('button', { name: 'Switch on' }).click();
      await page.getByRole('heading', { name: 'Keep your recovery codes' }).waitFor();
      const [recovery = ''] = await page.locator('.codes li').allInnerTexts();
      await page.getByRole('button', { name: 'Done' }).click();
      await page.getByText('On', { exact: true }).waitFor();
      await member.context.clearCookies();
      await member.open('/sign-in');
      await page.getByLabel('E-mail').fill(email);
      await page.getByLabel('Password').fill(secondPassword);
      await page.getByRole('button', { name: 'Sign in' }).click();
      const code = page.getByLabel('Code', { exact: true });
      await code.waitFor();
      // A phone's keys for numbers have none of the letters of a recovery code.
      expect(await code.getAttribute('inputmode')).not.toBe('numeric');
      expect(await violationsInThemes(page)).toEqual([]);
      await code.fill('000000');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('alert').waitFor();
      await code.fill(recovery);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { level: 1, name: /Welcome/ }).waitFor();
      expect(member.problems).toEqual([]);
    });

    test('an administrator who becomes a member loses the links of administrators with the first refusal', async () => {
      const [visit, login] = [await world.visit({ signedIn: false }), await makePerson(world, 'A Former Administrator')];
      const { data: users } = (await world.call('GET', '/v1/users?limit=100')).json<{ data: { id: string; email: string }[] }>();
      const path = `/v1/users/${users.find((user) => user.email === login.email)?.id}`;
      expect((await world.call('PATCH', path, { role: 'admin' })).status).toBe(200);
      const { page } = visit;
      await visit.open('/sign-in');
      await signIn(page, login);
      expect((await world.call('PATCH', path, { role: 'member' })).status).toBe(200);
      await page.getByRole('link', { name: 'Audit log', exact: true }).click();
      await page.getByText('You may not view this').waitFor();
      await page.getByRole('link', { name: 'Audit log', exact: true }).waitFor({ state: 'detached', timeout: 10_000 });
      await page.getByRole('link', { name: 'Chat', exact: true }).waitFor();
      expect(visit.problems).toEqual([]);
      await visit.close();
    });

    test('one password in several organizations leads to a choice between them', async () => {
      const name = 'Second Organization';
      const [visit, login] = [await world.visit({ signedIn: false }), await makePerson(world, 'A Person of two')];
      await world.makeOrganization(name, login);
      const { page } = visit;
      await visit.open('/sign-in');
      await page.getByLabel('E-mail').fill(login.email);
      await page.getByLabel('Password').fill(login.password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      const choice = page.getByLabel('Organization');
      await choice.waitFor();
      expect(await violationsInThemes(page)).toEqual([]);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('Choose one.').waitFor();
      await choice.selectOption(name);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { level: 1, name: /Welcome/ }).waitFor();
      await page.locator('.brand', { hasText: name }).first().waitFor();
      expect(visit.problems).toEqual([]);
      await visit.close();
    });
  });
