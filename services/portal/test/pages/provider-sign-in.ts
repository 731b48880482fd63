import { withDatabase } from '@agent-service/testkit';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { violationsInThemes } from './accessibility.ts';
import { type PagesWorld, signIn } from './world.ts';

const email = 'ada@demonstration.example';

/** The refusals have tests without a browser: services/portal/test/provider-sign-in.test.ts. */
export const testProviderSignIn = (started: () => PagesWorld) =>
  describe('the sign-in with an OpenID Connect provider', () => {
    let world: PagesWorld;
    beforeAll(async () => {
      world = started();
      await world.call('POST', '/v1/users', { name: 'Ada', email });
    });

    const signInAtProvider = (page: Page) => page.getByRole('link', { name: 'Sign in with your organization' }).click();

    test('opens a session and leads back to the page', async () => {
      world.provider.script({ email });
      const { page, open, close, problems } = await world.visit({ signedIn: false });
      await open('/sign-in?return_to=/live/agents');
      await signInAtProvider(page);
      await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
      await page.getByText('Ada').first().waitFor();
      expect(problems).toEqual([]);
      await close();
    });

    test('lets its user set a first password, shortly after a sign-in', async () => {
      const password = 'a first long password';
      world.provider.script({ email });
      const { page, open, close, problems } = await world.visit({ signedIn: false });
      await open('/sign-in?return_to=/live/settings');
      await signInAtProvider(page);
      const form = page.getByRole('region', { name: 'Password' });
      const setPassword = async () => {
        await form.getByLabel('New password').fill(password);
        await form.getByLabel('Repeat the password').fill(password);
        await form.getByRole('button', { name: 'Set a password' }).click();
      };
      await form.getByLabel('New password').waitFor();
      expect(await form.getByLabel('Current password').count()).toBe(0);
      await withDatabase(world.system.endpoints['postgres'] ?? '', (client) =>
        client.query(
          `update identity.portal_sessions as session set created_at = session.created_at - interval '11 minutes'
           from identity.users as owner where owner.id = session.user_id and owner.email = $1`,
          [email],
        ),
      );
      await setPassword();
      await form.getByRole('alert').getByText('You signed in more than 10 minutes ago. Sign in again, and repeat this.').waitFor();

      await page.getByRole('button', { name: 'Ada' }).click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
      await open('/sign-in?return_to=/live/settings');
      await signInAtProvider(page);
      await setPassword();
      await page.getByText('The password is set. Your other sessions have ended.', { exact: true }).first().waitFor();
      await form.getByLabel('Current password').waitFor();
      expect(problems).toEqual([]);
      await close();
      const other = await world.visit({ signedIn: false });
      await other.open('/sign-in');
      await signIn(other.page, { email, password });
      await other.close();
    });

    test('asks a person who belongs to several organizations for one of them', async () => {
      const name = `${'Reconciliation'.repeat(6)} \u05e9\u05dc\u05d5\u05dd`;
      world.provider.script({ email });
      const { page, context, open, close, problems } = await world.visit({ signedIn: false, phone: true });
      const comeBack = async () => {
        await open('/sign-in?return_to=/live/agents');
        await signInAtProvider(page);
      };
      await comeBack();
      await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
      await world.makeOrganization(name, { email });
      await context.clearCookies();
      await comeBack();
      await page.getByRole('heading', { level: 1, name: 'Choose an organization' }).waitFor();
      const [own, other] = [page.getByRole('button', { name: 'You have signed in here before.' }), page.getByRole('button', { name })];
      // The organization that the person knows is listed first, under any name of another organization.
      expect(await page.locator('.choice').first().innerText()).toContain('You have signed in here before.');
      expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      expect(await violationsInThemes(page)).toEqual([]);
      await page.reload();
      const refuse = /\/api\/openid-connect\/choice$/;
      await page.route(refuse, (route) =>
        route.request().method() === 'POST'
          ? route.fulfill({ status: 503, json: { error: { code: 'unavailable', message: 'The service failed.' } } })
          : route.continue(),
      );
      await other.click();
      await page.getByRole('alert').getByText('The service failed.').waitFor();
      await page.unroute(refuse);
      await own.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
      expect(new URL(page.url()).pathname).toBe('/live/agents');
      // It is good for one session.
      await open('/choose-organization');
      await page.getByRole('alert').getByText('Sign in again.').waitFor();
      expect(problems).toEqual([]);
      await close();
    });

    test('says why a person without an account is not signed in', async () => {
      world.provider.script({ email: 'stranger@demonstration.example', sub: 'account-2' });
      const { page, open, close, problems } = await world.visit({ signedIn: false });
      await open('/sign-in');
      await signInAtProvider(page);
      await page.getByText('No active user has the e-mail address of your account there.').waitFor();
      expect(problems).toEqual([]);
      await close();
    });
  });
