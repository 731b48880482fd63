import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { type BusinessDatabase, businessDatabase, type PagesWorld, settle } from './world.ts';

/** How a person uses a page. */
interface InputMethod {
  press(target: Locator): Promise<void>;
  /** Replaces the text of a field. */
  type(target: Locator, text: string): Promise<void>;
  /** Chooses an option by its text, which is one word. */
  choose(list: Locator, option: string): Promise<void>;
  check(box: Locator): Promise<void>;
  /** Leads to a page by the navigation of the portal. */
  goTo(page: Page, name: string): Promise<void>;
}

/** More than any page has controls before its rows repeat. */
const tabsAtMost = 120;

/** Goes to a control as a person does: with the Tab key, and within a menu with the arrows. */
export async function tabTo(target: Locator, key = 'Tab'): Promise<void> {
  await target.waitFor();
  for (let count = 0; count < tabsAtMost; count += 1) {
    if (await target.evaluate((element) => element.ownerDocument.activeElement === element)) return;
    await target.page().keyboard.press(key);
  }
  throw new Error(`${tabsAtMost} times ${key} did not reach ${target}`);
}

export const keyboard: InputMethod = {
  async press(target) {
    const isItem = (await target.getAttribute('role')) === 'menuitem';
    await tabTo(target, isItem ? 'ArrowDown' : 'Tab');
    await target.page().keyboard.press('Enter');
  },
  async type(target, text) {
    await tabTo(target);
    await target.page().keyboard.press('Control+a');
    await target.page().keyboard.type(text);
  },
  async choose(list, option) {
    await tabTo(list);
    await list.page().keyboard.type(option);
  },
  async check(box) {
    await tabTo(box);
    await box.page().keyboard.press('Space');
  },
  async goTo(page, name) {
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search' }).waitFor();
    await page.keyboard.type(name);
    await page.getByRole('option', { name, selected: true }).waitFor();
    await page.keyboard.press('Enter');
  },
};

const fingers: InputMethod = {
  press: (target) => target.tap(),
  type: (target, text) => target.fill(text),
  choose: async (list, option) => void (await list.selectOption(option)),
  async check(box) {
    await box.tap();
  },
  async goTo(page, name) {
    await page.getByRole('button', { name: 'Menu' }).tap();
    await page.getByRole('link', { name, exact: true }).tap();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  },
};

const used = async (page: Page): Promise<number> => {
  await settle(page);
  const text = await page.locator('.figure', { hasText: 'Used' }).locator('.figure-value').innerText();
  return Number(text.replaceAll(/\D/g, ''));
};

/** The controls of a page, for a person who uses it by one method. */
const personAt = (page: Page, input: InputMethod) => ({
  page,
  input,
  button: (label: string | RegExp) => page.getByRole('button', { name: label, exact: true }).first(),
  inDialog: (label: string | RegExp) => page.getByRole('dialog').getByRole('button', { name: label, exact: true }),
  heading: (label: string | RegExp) => page.getByRole('heading', { level: 1, name: label }).waitFor(),
  async switchTo(environment: 'Live' | 'Test') {
    await input.press(page.getByRole('navigation', { name: 'Environment' }).getByRole('link', { name: environment }));
    await page.waitForURL(new RegExp(`/${environment.toLowerCase()}(/|$)`));
  },
});

type Person = ReturnType<typeof personAt>;

/** Connects a database, makes an agent of two of its columns, and disconnects it. */
async function useOwnData({ page, input, button, inDialog, heading, switchTo }: Person, fields: BusinessDatabase['fields']) {
  const dialog = page.getByRole('dialog');
  await switchTo('Test');
  await input.goTo(page, 'Data source');
  await heading('Data source');
  await input.press(button(/^(Replace|Connect a database)$/));
  for (const [label, value] of Object.entries(fields)) await input.type(dialog.getByLabel(label, { exact: true }), value);
  await input.choose(dialog.getByLabel('Encryption'), 'None');
  await input.press(inDialog('Test'));
  await dialog.getByText(/the account can read 1 table/).waitFor();
  await input.press(inDialog(/^(Replace|Connect)$/));
  await page.getByText('The database is connected.', { exact: true }).first().waitFor();
  await input.press(page.locator('summary', { hasText: '3 columns' }));
  await page.getByRole('listitem').filter({ hasText: 'weight' }).waitFor();

  await input.goTo(page, 'Agents');
  await heading('Agents');
  await input.press(page.locator('main').getByRole('link', { name: 'New agent' }).first());
  await input.type(page.getByLabel('Name', { exact: true }), 'Parcels');
  await input.type(page.getByLabel('Instructions'), 'Answer from the parcels.');
  await input.press(page.getByRole('button', { name: /^parcels/ }));
  for (const column of ['id', 'weight']) await input.check(page.getByRole('checkbox', { name: new RegExp(`^${column} `) }));
  await input.press(button('Create the agent'));
  await page.getByText('parcels(id, weight)').waitFor();

  await input.goTo(page, 'Data source');
  await input.press(button('Disconnect'));
  await input.type(dialog.getByRole('textbox'), fields.Database);
  await input.press(inDialog('Disconnect'));
  await page.getByText('No database is connected').waitFor();
  await switchTo('Live');
}

/** Activates a template and asks its agent, and returns what the answer cost. The figures of its chart are read as a table. */
async function ask({ page, input, button, inDialog, heading }: Person, template: string): Promise<number> {
  await input.goTo(page, 'Templates');
  await heading('Templates');
  await input.press(page.getByRole('link', { name: template }));
  await heading(template);
  await input.press(button('Activate'));
  await input.press(inDialog('Activate'));
  await heading(new RegExp(`${template}.*Active`));
  await input.press(page.locator('main').getByRole('link', { name: 'Chat', exact: true }).first());
  await input.type(page.getByRole('textbox', { name: 'Message' }), 'How many customers do we have by segment?');
  await input.press(button('Send'));
  const answer = page.getByRole('article', { name: 'Answer' });
  await answer.waitFor({ timeout: 30_000 });
  await answer.locator('.chart-frame svg').waitFor();
  await input.press(answer.locator('summary', { hasText: 'Show the data' }));
  const data = answer.getByRole('region', { name: 'Data of the chart' });
  await data.getByRole('cell', { name: /\d/ }).first().waitFor();
  const { x = -1, width = 0 } = (await data.boundingBox()) ?? {};
  expect([x >= 0, x + width <= (page.viewportSize()?.width ?? 0)]).toEqual([true, true]);
  const [, charged = ''] = /(\d+) credits?/.exec(await answer.locator('.answer-foot').innerText()) ?? [];
  return Number(charged);
}

/** The same day with each: nothing needs a mouse, and nothing a large window. */
export const testInputMethods = (started: () => PagesWorld) =>
  describe('a day in the portal', () => {
    let business: BusinessDatabase;
    beforeAll(async () => {
      business = await businessDatabase();
    });
    afterAll(() => business?.drop());

    test.each([
      ['by keyboard alone', keyboard, false, 'Accounts receivable', '1234'],
      ['on a phone', fingers, true, 'Sales performance', '1235'],
    ] as const)('%s', async (name, input, phone, template, credits) => {
      const world = started();
      const { page, open, problems, close } = await world.visit({ signedIn: false, phone });
      const person = personAt(page, input);
      const { button, inDialog, heading } = person;

      await open('/sign-in');
      await input.type(page.getByLabel('E-mail'), world.login.email);
      await input.type(page.getByLabel('Password'), world.login.password);
      await input.press(button('Sign in'));
      await heading(/Welcome/);
      const before = await used(page);

      await input.goTo(page, 'API keys');
      await heading('API keys');
      await input.press(button('Create a key'));
      await input.type(page.getByLabel('Name', { exact: true }), name);
      await input.press(inDialog('Create the key'));
      const apiKey = await page.getByRole('textbox', { name: 'API key' }).inputValue();
      await input.press(inDialog('Done'));
      expect((await world.call('GET', '/v1/agents', undefined, apiKey)).status).toBe(200);

      const charged = await ask(person, template);
      expect(charged).toBeGreaterThan(0);
      await input.goTo(page, 'Home');
      await heading(/Welcome/);
      const figure = page.locator('.figure', { hasText: 'Used' }).locator('.figure-value');
      await figure.getByText((before + charged).toLocaleString('en-GB'), { exact: true }).waitFor();

      await input.goTo(page, 'Credits');
      await input.press(page.getByRole('link', { name: 'Allocations', exact: true }));
      await input.press(page.getByRole('button', { name: /Allocate credits to/ }).first());
      await input.type(page.getByLabel('Credits a month'), credits);
      await input.press(inDialog('Allocate'));
      await page
        .getByRole('cell', { name: Number(credits).toLocaleString('en-GB') })
        .first()
        .waitFor();

      await useOwnData(person, business.fields);

      await input.goTo(page, 'API keys');
      await heading('API keys');
      await input.press(button(`Actions of ${name}`));
      await input.press(page.getByRole('menuitem', { name: 'Revoke' }));
      await input.type(page.getByRole('dialog').getByRole('textbox'), name);
      await input.press(inDialog('Revoke the key'));
      await page.getByText('The key was revoked.', { exact: true }).first().waitFor();
      expect((await world.call('GET', '/v1/agents', undefined, apiKey)).status).toBe(401);

      if (phone) await input.press(button('Menu'));
      await input.press(button(/^Administrator/));
      await input.press(page.getByRole('menuitem', { name: 'Sign out' }));
      await heading('Sign in');
      expect(problems).toEqual([]);
      await close();
    });
  });
