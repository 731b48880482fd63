import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { onEachPage, visitsOfEachTest } from './each-page.ts';
import { keyboard, tabTo } from './input-methods.ts';
import { type PagesWorld, publicPaths, settle, sharedPaths, testMs, type Visit } from './world.ts';

/** More than a page has before its rows repeat. */
const tabsAtMost = 45;

interface Stop {
  readonly name: string;
  readonly isMarked: boolean;
  readonly isVisible: boolean;
  readonly isLargeEnough: boolean;
}

/** The element with the focus; undefined where the focus has left the page. */
const focusedStop = (page: Page): Promise<Stop | undefined> =>
  page.evaluate(() => {
    interface Box {
      left: number;
      top: number;
      right: number;
      bottom: number;
      width: number;
      height: number;
    }
    interface Element {
      tagName: string;
      textContent: string;
      parentElement: Element | null;
      getAttribute(name: string): string | null;
      getBoundingClientRect(): Box;
      contains(other: unknown): boolean;
      matches(selector: string): boolean;
      closest(selector: string): Element | null;
    }
    const { document, getComputedStyle, innerHeight, innerWidth } = globalThis as unknown as {
      document: { activeElement: Element | null; body: Element; elementFromPoint(x: number, y: number): Element | null };
      getComputedStyle(element: Element, pseudo?: string): Record<string, string>;
      innerHeight: number;
      innerWidth: number;
    };
    const element = document.activeElement;
    if (!element || element === document.body) return undefined;
    const box = element.getBoundingClientRect();
    const hasOutline = (style: Record<string, string>) =>
      style['outlineStyle'] !== 'none' && Number.parseFloat(style['outlineWidth'] ?? '') >= 1;
    const frame = element.closest('.composer-box, [cmdk-root]');
    const looks = [getComputedStyle(element), getComputedStyle(element, '::after'), ...(frame ? [getComputedStyle(frame)] : [])];
    // Some point of it is on top: a bar that stays in place must not cover all of it.
    const points = [0.1, 0.5, 0.9].flatMap((x) =>
      [0.1, 0.5, 0.9].map((y) => [box.left + box.width * x, box.top + box.height * y] as const),
    );
    const isOnTop = points.some(([x, y]) => {
      if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return false;
      const top = document.elementFromPoint(x, y);
      return top !== null && (element.contains(top) || top.contains(element));
    });
    // The link of a card or a row covers it, and links within a text may be as high as its lines.
    const isCover = getComputedStyle(element, '::after')['position'] === 'absolute';
    const isInText = isCover || (element.tagName === 'A' && element.parentElement?.matches('p, dd, td, .prose *') === true);
    return {
      name: `${element.tagName.toLowerCase()} ${element.getAttribute('aria-label') ?? element.textContent.slice(0, 40)}`,
      isMarked: looks.some(hasOutline) || (frame !== null && getComputedStyle(frame)['boxShadow'] !== 'none'),
      isVisible: isOnTop,
      isLargeEnough: isInText || (box.width >= 24 && box.height >= 24) || element.matches('input[type="checkbox"], [role="switch"]'),
    };
  });

/** Goes through the page with the Tab key. */
async function faultsOf(page: Page): Promise<string[]> {
  const faults = new Set<string>();
  for (let count = 0; count < tabsAtMost; count += 1) {
    await page.keyboard.press('Tab');
    const stop = await focusedStop(page);
    if (!stop) return [...faults];
    if (!stop.isMarked) faults.add(`${stop.name} does not show the focus`);
    if (!stop.isVisible) faults.add(`${stop.name} is covered`);
    if (!stop.isLargeEnough) faults.add(`${stop.name} is smaller than 24 pixels`);
  }
  return [...faults];
}

export const testKeyboard = (started: () => PagesWorld) =>
  describe('by keyboard alone', () => {
    let world: PagesWorld;
    let paths: Record<string, string>;
    const visitAs = visitsOfEachTest(() => world);
    beforeAll(async () => {
      world = started();
      paths = await sharedPaths(world);
    }, testMs);

    test.each([false, true])(
      'each control shows the focus, is not covered and is large enough, on a phone: %s',
      async (phone) => {
        const check = async ({ page, open: go }: Visit, path: string) => {
          await go(path);
          return await faultsOf(page);
        };
        const findings = [
          ...(await onEachPage(paths, () => visitAs({ phone }), check)),
          ...(await onEachPage(publicPaths, () => visitAs({ phone, signedIn: false }), check)),
        ];
        expect(findings).toEqual([]);
      },
      testMs,
    );

    test(
      'a dialog takes the focus, keeps it, and gives it back to what has opened it',
      async () => {
        const { page, open: go } = await visitAs({});
        const findings: string[] = [];
        const check = async (name: string) => {
          const dialog = page.getByRole('dialog');
          await dialog.waitFor();
          for (let count = 0; count < 12; count += 1) {
            await page.keyboard.press('Tab');
            if ((await dialog.locator(':focus').count()) === 0) findings.push(`${name}: the focus left the dialog`);
          }
          await page.keyboard.press('Escape');
          await dialog.waitFor({ state: 'detached' });
        };
        const isFocused = (locator: ReturnType<Page['locator']>) =>
          locator
            .and(page.locator(':focus'))
            .waitFor({ timeout: 3_000 })
            .then(
              () => true,
              () => false,
            );
        for (const [path, name] of [
          ['/live/keys', 'Create a key'],
          ['/live/applications', 'Register an application'],
          ['/live/webhooks', 'Add a webhook'],
          ['/live/users', 'Invite a user'],
          ['/live/data-source', 'Disconnect'],
          ['/live/credits', 'Credit settings'],
          [paths['template'] ?? '', 'Duplicate'],
          ['/live/settings', 'Set up'],
        ] as const) {
          await go(path);
          const opener = page.getByRole('button', { name }).first();
          await keyboard.press(opener);
          await check(name);
          if (!(await isFocused(opener))) findings.push(`${name}: the focus is lost`);
        }
        for (const [path, menu, item] of [
          ['/live/keys', /^Actions of Reporting/, 'Revoke'],
          ['/live/agents', /^Actions of/, 'Delete'],
          ['/live/users', /^Actions of Grace/, /^Edit/],
        ] as const) {
          await go(path);
          const opener = page.getByRole('button', { name: menu }).first();
          await keyboard.press(opener);
          await keyboard.press(page.getByRole('menuitem', { name: item }));
          await check(String(item));
          if (!(await isFocused(opener))) findings.push(`${path} ${item}: the focus is lost`);
        }
        await go('/live/agents');
        await page.keyboard.press('Control+k');
        await check('search');
        expect(findings).toEqual([]);
      },
      testMs,
    );

    test('a dialog that a mouse opened from a menu gives the focus back to the button of the menu', async () => {
      const { page, open: go } = await visitAs({});
      await go('/live/agents');
      const opener = page.getByRole('button', { name: /^Actions of/ }).first();
      await page.getByRole('searchbox', { name: 'Search agents' }).click();
      await opener.click();
      await page.getByRole('menuitem', { name: 'Delete' }).click();
      await page.getByRole('dialog').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await opener.and(page.locator(':focus')).waitFor();
    });

    test('the conversations on a phone take the focus, and close with Escape and with a tap beside them', async () => {
      const { page, open: go } = await visitAs({ phone: true });
      await go(paths['chat'] ?? '');
      const toggle = page.getByRole('button', { name: 'Conversations', exact: true });
      const panel = page.getByRole('dialog', { name: 'Conversations' });
      for (const close of [() => page.keyboard.press('Escape'), () => page.touchscreen.tap(380, 400)]) {
        await toggle.tap();
        await panel.and(page.locator(':focus')).waitFor({ timeout: 20_000 });
        await close();
        await panel.waitFor({ state: 'hidden', timeout: 20_000 });
        await toggle.and(page.locator(':focus')).waitFor({ timeout: 20_000 });
      }
    });

    test('a page that is led to has the focus, with its heading as its name', async () => {
      const { page, open: go } = await visitAs({});
      await go('/live');
      const focused = (name: string) => page.getByRole('main', { name, exact: true }).and(page.locator(':focus')).waitFor();
      await keyboard.press(page.getByRole('link', { name: 'Webhooks', exact: true }));
      await focused('Webhooks');
      await keyboard.press(page.getByRole('link', { name: 'hooks.example.com/agent-service' }).first());
      await page.waitForURL(/\/webhooks\/\w+$/);
      await settle(page);
      await page.locator('main:focus').waitFor();
      await page.goBack();
      await focused('Webhooks');
      await page.getByRole('link', { name: 'Chat', exact: true }).click();
      await page.waitForURL(/\/live\/chat/);
      await go('/live/no-such-page');
      expect(await page.title()).toBe('This page does not exist – Agent Service');
    });

    test('the content of the editor is reached without a question', async () => {
      const { page, open: go } = await visitAs({});
      await go(paths['agent-edit'] ?? '');
      await page.getByLabel('Description').fill('Changed');
      const questions: string[] = [];
      page.on('dialog', (question) => {
        questions.push(question.message());
        return question.accept();
      });
      await keyboard.press(page.getByRole('link', { name: 'Skip to the content' }));
      await page.locator('main:focus').waitFor();
      expect(questions).toEqual([]);
    });

    test('a prompt that is removed leaves the focus among the others', async () => {
      const { page, open: go } = await visitAs({});
      await go(paths['agent-edit'] ?? '');
      const removals = page.getByRole('button', { name: /^Remove prompt/ });
      let count = await removals.count();
      expect(count).toBeGreaterThan(1);
      for (; count > 0; count -= 1) {
        await removals.last().press('Enter');
        const name = count > 1 ? `Remove prompt ${count - 1}` : 'Add a prompt';
        await page.getByRole('button', { name }).and(page.locator(':focus')).waitFor({ timeout: 3_000 });
      }
    });

    test.each<[string, boolean]>([
      ['search', false],
      ['the menu of a phone', true],
    ])('%s does not stay open over a page that Back leads to', async (_, phone) => {
      const { page, open: go } = await visitAs({ phone });
      await go('/live');
      await page.evaluate("history.pushState(null, '', '/live/agents')");
      await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
      if (phone) await page.getByRole('button', { name: 'Menu' }).click();
      else await page.keyboard.press('Control+k');
      await page.getByRole('dialog').waitFor();
      await page.goBack();
      await page.getByRole('heading', { level: 1, name: /Welcome/, includeHidden: true }).waitFor();
      await page.getByRole('dialog').waitFor({ state: 'detached', timeout: 3_000 });
    });

    test('an icon says its name, until Escape', async () => {
      const { page, open: go } = await visitAs({});
      await go('/live/agents');
      const tooltip = () => page.evaluate<string>("getComputedStyle(document.activeElement, '::after').content.replaceAll('\"', '')");
      const opener = page.getByRole('button', { name: /^Actions of/ }).first();
      await tabTo(opener);
      expect(await tooltip()).toBe(await opener.getAttribute('aria-label'));
      await page.keyboard.press('Escape');
      expect(await tooltip()).toBe('none');
    });

    test('search leads to conversations and templates by a part of their names', async () => {
      const { page, open: go } = await visitAs({});
      await go('/live');
      const choose = async (typed: string, option: string) => {
        await page.keyboard.press('Control+k');
        await page.getByRole('combobox').fill(typed);
        // The first match has the selection already.
        await page.getByRole('option', { name: option, exact: true, selected: true }).waitFor();
        await page.keyboard.press('Enter');
      };
      await choose('by segm', 'Customers by segment · Customer insights');
      await page.waitForURL(/\/live\/chat\/agt_\w+\/conv_\w+$/);
      await choose('gross', 'Gross margin');
      await page.getByRole('heading', { level: 1, name: 'Gross margin' }).waitFor();
    });

    test('search shows an agent for a word of its description, and says that it is incomplete, not that nothing matches', async () => {
      const { page, open: go } = await visitAs({});
      const agent = {
        name: 'Freight',
        description: 'Answers about zinnwald deliveries.',
        system_prompt: 'Answer.',
        data_scope: { tables: [] },
      };
      const { data } = (await world.call('POST', '/v1/agents', agent)).json<{ data: { id: string } }>();
      await go('/live');
      await page.keyboard.press('Control+k');
      const box = page.getByRole('combobox');
      const nothing = page.getByText('Nothing matches.');
      const { promise, resolve: release } = Promise.withResolvers<void>();
      await page.route(/\/v1\/agents\?.*search=zinn$/, async (route) => {
        await promise;
        await route.abort();
      });
      const isLeft = page.waitForEvent('requestfailed', (request) => request.url().endsWith('search=zinn'));
      const isSearched = page.waitForRequest(/\/v1\/agents\?.*search=zinn$/);
      await box.fill('zinn');
      await isSearched;
      expect(await nothing.count()).toBe(0);
      await box.fill('zinnwald');
      await page.getByRole('option', { name: 'Freight', exact: true, selected: true }).waitFor({ timeout: 20_000 });
      await isLeft;
      release();
      const error = { code: 'unavailable', message: 'The service is not available.' };
      await page.route(/\/v1\/agents\?.*search=/, (route) => route.fulfill({ status: 503, json: { error } }));
      await box.fill('xyzzy');
      await page.getByRole('alert').getByText(error.message).waitFor({ timeout: 20_000 });
      await settle(page);
      expect(await nothing.count()).toBe(0);
      await world.call('DELETE', `/v1/agents/${data.id}`);
    });

    test('a table that was opened stays open when a search finds one of its columns', async () => {
      const { page, open: go } = await visitAs({});
      await go(paths['agent-edit'] ?? '');
      const table = page.getByRole('button', { name: /^customers/ });
      await keyboard.press(table);
      const column = await page.locator('.picker-columns .mono').first().innerText();
      await page.getByRole('searchbox', { name: 'Find a table or column' }).fill(column);
      await page.getByRole('listitem').filter({ hasText: 'orders' }).getByRole('checkbox').nth(1).waitFor();
      expect([column, await table.getAttribute('aria-expanded')]).toEqual(['id', 'true']);
    });

    test('a filter keeps what is typed while the page follows', async () => {
      const { page, open: go } = await visitAs({});
      await go('/live/agents');
      const search = page.getByRole('searchbox', { name: 'Search agents' });
      // The next letter comes when the URL has the first one, and the page has not.
      await page.evaluate<void>(`(() => {
        const replace = history.replaceState;
        history.replaceState = (...args) => {
          replace.apply(history, args);
          if (!String(args[2]).includes('search=c')) return;
          history.replaceState = replace;
          document.execCommand('insertText', false, 'u');
        };
      })()`);
      const isRead = page.waitForRequest(/search=c(&|$)/);
      await search.pressSequentially('c');
      await isRead;
      await search.press('s');
      await page.waitForURL(/search=cus$/);
      await settle(page);
      expect(await search.inputValue()).toBe('cus');
      // A filter that the URL changes by itself is shown.
      await page.getByRole('link', { name: 'Agents', exact: true }).click();
      await page.waitForURL(/\/agents$/);
      await settle(page);
      expect(await search.inputValue()).toBe('');
      await go('/live/audit');
      const action = page.getByRole('textbox', { name: 'Action' });
      await action.pressSequentially('agent ');
      await page.waitForURL(/action=agent$/);
      await settle(page);
      expect(await action.inputValue()).toBe('agent ');
    });

    test('what has happened is announced', async () => {
      const { page, open: go } = await visitAs({});
      await go('/live/agents');
      const announced = (text: RegExp) => page.locator('[role="status"], [role="alert"], [aria-live]').getByText(text).first();
      await page.getByRole('searchbox').fill('Customer');
      await settle(page);
      await announced(/^\d+ results?$/).waitFor({ state: 'attached' });
      await go('/live/webhooks');
      await page.getByRole('button', { name: 'Add a webhook' }).first().click();
      await page.getByRole('dialog').getByRole('button', { name: /^Add/ }).click();
      await page.locator('[aria-invalid="true"]').first().waitFor();
      // The first field that is wrong has the focus, and its message is its description.
      const described = await page.locator('[aria-invalid="true"]:focus').first().getAttribute('aria-describedby');
      expect(await page.locator(`[id="${described?.split(' ').at(-1)}"]`).innerText()).not.toBe('');
    });
  });
