import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { describeTimes, expectQuick, median, report, rounds, slownessOf, workOf } from './measures.ts';
import { type PagesWorld, settle } from './world.ts';

const startMs = 180_000;
const remote = 'https://attacker.example';
const fence = '```';
const rows = [{ a: 'x', b: 1 }];
const encoding = { x: { field: 'a', type: 'nominal' }, y: { field: 'b', type: 'quantitative' } };
const chart = (spec: object) => `${fence}vega-lite\n${JSON.stringify(spec)}\n${fence}`;

/** Each tries to run a script, to load something, to leave the page or to exhaust the browser. */
const hostileTexts = [
  `<script>window.hacked = 1</script><img src=x onerror="window.hacked=1"><svg onload="window.hacked=1"></svg><iframe src="${remote}"></iframe>`,
  `[link](javascript:window.hacked=1) [data](data:text/html,<script>window.hacked=1</script>) <a href="javascript:window.hacked=1">x</a> [allowed](https://example.com/)`,
  `![picture](${remote}/pixel.png) ![svg](data:image/svg+xml,<svg onload="window.hacked=1"/>)`,
  `<style>@import "${remote}/style.css"; body { background: url(${remote}/b.png) }</style><link rel="stylesheet" href="${remote}/s.css">`,
  `<form action="${remote}"><input name="password"><button formaction="${remote}">Go</button></form><meta http-equiv="refresh" content="0;url=${remote}">`,
  chart({ data: { url: `${remote}/rows.json` }, mark: 'bar', encoding }),
  chart({ data: { values: rows }, mark: { type: 'image', url: `${remote}/i.png` }, encoding: { url: { value: `${remote}/e.png` } } }),
  chart({
    data: { values: rows },
    mark: { type: 'bar', href: 'javascript:window.hacked=1' },
    encoding: { ...encoding, href: { value: 'javascript:window.hacked=1' } },
  }),
  chart({
    data: { values: rows },
    mark: 'bar',
    encoding,
    transform: [
      { calculate: 'sequence(0, 1e9)', as: 'c' },
      { lookup: 'a', from: { data: { url: `${remote}/l.json` }, key: 'a' } },
    ],
  }),
  chart({
    data: { values: rows },
    mark: 'bar',
    params: [{ name: 'p', expr: "warn('x') + window.hacked" }],
    encoding: { ...encoding, color: { condition: { test: 'window.hacked=1', value: 'red' } } },
  }),
  chart({
    data: { values: rows },
    mark: 'bar',
    encoding: {
      ...encoding,
      y: { field: 'b', type: 'quantitative', bin: { step: 1e-9, extent: [0, 1] }, axis: { tickCount: 1e9, labelExpr: 'window.hacked=1' } },
    },
  }),
  chart({ data: { sequence: { start: 0, stop: 1e9 } }, mark: 'point' }),
  chart({ layer: Array.from({ length: 500 }, () => ({ mark: 'bar', encoding })), data: { values: rows } }),
  chart({
    data: { values: rows },
    mark: 'geoshape',
    projection: { type: 'mercator' },
    usermeta: { embedOptions: { loader: { target: '_top' } } },
  }),
  chart({ __proto__: null, constructor: { prototype: { hacked: 1 } }, data: { values: rows }, mark: 'bar', encoding }),
  `${fence}vega-lite\n{ not json\n${fence}\n${fence}vega-lite\n[1,2]\n${fence}\n${fence}vega-lite\n"text"\n${fence}`,
];

/** The charts above that have rows and a kept kind of mark, but the one whose color depends on an expression: it cannot be drawn without. */
const drawnCharts = 5;

/** The parser ends the first with an error of its recursion, and takes 18 s for the second, whose layout took 26 s. */
const costlyTexts = ['>'.repeat(4_000), '*_'.repeat(16_000)];

/** Shows these texts as the answers of a conversation. */
const answerWith = (page: Page, texts: readonly string[]): Promise<unknown> =>
  page.route(/\/conversations\/[^/]+\/messages/, async (route) => {
    const response = await route.fetch();
    const body = await response.json();
    const answer = body.data.find(({ role }: { role: string }) => role === 'assistant');
    const data = texts.map((content, index) => ({ ...answer, id: `msg_${index}`, content }));
    await route.fulfill({ response, json: { ...body, data } });
  });

export const testHostileAnswers = (started: () => PagesWorld) =>
  describe('hostile answers and speed', () => {
    let world: PagesWorld;
    let chatPath: string;
    beforeAll(async () => {
      world = started();
      chatPath = await startConversation(world);
    }, startMs);

    test(
      'that are costly to parse are shown as they are, and do not hold the page up',
      async () => {
        const { page, close } = await world.visit();
        await answerWith(page, costlyTexts);
        await page.goto(chatPath);
        await page
          .locator('.answer .prose.plain')
          .nth(costlyTexts.length - 1)
          .waitFor({ timeout: 10_000 });
        // Not the text that stands there until the renderer has been loaded.
        await settle(page);
        expect(await page.locator('.answer .prose.plain').allTextContents()).toEqual(costlyTexts.toReversed());
        await close();
      },
      startMs,
    );

    test('say of a chart that fails while it is drawn that it cannot be drawn', async () => {
      const { page, close } = await world.visit();
      const color = { field: 'a', type: 'nominal', scale: { scheme: 'corporate' } };
      await answerWith(page, [
        chart({ data: { values: rows }, mark: 'bar', encoding: { ...encoding, color } }),
        chart({ data: { values: rows }, mark: { type: 'line', interpolate: 'smooth' }, encoding }),
        chart({ data: { values: rows }, mark: 'bar', encoding }),
      ]);
      await page.goto(chatPath);
      await page.getByText('This chart cannot be drawn.').nth(1).waitFor();
      await page.locator('.chart-frame svg').waitFor();
      expect(await page.locator('.chart-frame').count()).toBe(1);
      await close();
    });

    test('have code that no button covers', async () => {
      const phoneOrNot = [false, true];
      for (const phone of phoneOrNot) {
        const { page, close } = await world.visit({ phone });
        await answerWith(page, [`${fence}sql\nselect ${'a_long_name, '.repeat(60)}\n${fence}`]);
        await page.goto(chatPath);
        const code = page.getByRole('region', { name: 'sql' });
        const [end, start] = await Promise.all([
          code.evaluate((element) => element.getBoundingClientRect().right),
          page.getByRole('button', { name: 'Copy: sql' }).evaluate((element) => element.getBoundingClientRect().left),
        ]);
        expect(end).toBeLessThanOrEqual(start);
        await close();
      }
    });

    test('have links to their own footnotes', async () => {
      const { page, close } = await world.visit();
      const text = (name: string) => `A claim[^1].\n\n[^1]: The note of the ${name}.`;
      await answerWith(page, [text('first'), text('second')]);
      await page.goto(chatPath);
      const answer = page.getByRole('article', { name: 'Answer' }).filter({ hasText: 'The note of the second.' });
      const links = answer.locator('.prose a');
      await links.first().waitFor();
      expect(await links.evaluateAll((all) => all.map((link) => [link.getAttribute('target'), link.getAttribute('href')?.at(0)]))).toEqual([
        [null, '#'],
        [null, '#'],
      ]);
      await links.first().click();
      expect(await page.locator(':target').innerText()).toContain('The note of the second.');
      await close();
    });

    test('have paragraphs that are read in their own direction', async () => {
      const { page, close } = await world.visit();
      await answerWith(page, ['مرحبا بكم في هذا الجواب.\n\nAn English paragraph.']);
      await page.goto(chatPath);
      // Not the text that stands there until the renderer has been loaded.
      const paragraphs = page.locator('.prose:not(.plain) p');
      const [first, second] = [paragraphs.nth(0), paragraphs.nth(1)];
      await second.waitFor();
      const edges = (text: typeof first) =>
        text.evaluate((element) => {
          const range = element.ownerDocument.createRange();
          range.selectNodeContents(element);
          const [inner, outer] = [range.getBoundingClientRect(), element.getBoundingClientRect()];
          return { left: Math.round(inner.left - outer.left), right: Math.round(outer.right - inner.right) };
        });
      expect([await edges(first), await edges(second)]).toMatchObject([{ right: 0 }, { left: 0 }]);
      await close();
    });

    test(
      'run no script and load nothing',
      async () => {
        const { page, problems, close, context } = await world.visit();
        const outside: string[] = [];
        await context.route(
          (url) => !url.href.startsWith(world.url),
          (route) => {
            outside.push(route.request().url());
            return route.abort();
          },
        );
        await answerWith(page, hostileTexts);
        await page.goto(chatPath);
        await page
          .getByRole('article', { name: 'Answer' })
          .nth(hostileTexts.length - 1)
          .waitFor();
        await settle(page);
        // The page draws the rest, so that what is absent below was refused.
        await page
          .locator('.chart-frame svg')
          .nth(drawnCharts - 1)
          .waitFor();
        expect(await page.locator('.chart-frame svg').count()).toBe(drawnCharts);
        expect(await page.locator('.prose.plain').count()).toBe(0);
        const links = await page.locator('.prose a').all();
        expect(await Promise.all(links.map((link) => link.getAttribute('href')))).toEqual(['https://example.com/']);
        expect(await page.evaluate(() => (globalThis as { hacked?: number }).hacked)).toBeUndefined();
        expect(
          await page
            .locator('.prose :is(script, img, iframe, form:not(.vega-bindings:empty), style, link, meta, object, embed, image)')
            .count(),
        ).toBe(0);
        expect(outside).toEqual([]);
        expect(new URL(page.url()).pathname).toBe(chatPath);
        expect(problems).toEqual([]);
        // The page still works.
        await page.getByRole('textbox', { name: 'Message' }).fill('still here');
        await close();
      },
      startMs,
    );

    test.each([
      ['/live', 250_000],
      ['/live/agents', 200_000],
    ])('%s needs less than %s bytes of compressed script at first', async (path, most) => {
      const visit = await world.visit();
      const loaded: string[] = [];
      visit.page.on('response', (response) => {
        const { pathname } = new URL(response.url());
        // The command palette comes later, when the page has been idle for a while.
        if (pathname.endsWith('.js') && !pathname.includes('command-palette')) loaded.push(pathname);
      });
      await visit.page.goto(path);
      await settle(visit.page);
      // Home has its chart, which a new organization has not.
      if (path === '/live') await visit.page.locator('.bars').waitFor();
      // A file without its compressed copy fails here; the build compresses all but the smallest.
      const sizes = await Promise.all(loaded.map((name) => compressedSize(join(world.pagesFolder, name))));
      const bytes = sizes.reduce((sum, size) => sum + size, 0);
      report(`script of ${path}: ${loaded.length} files, ${bytes} bytes with gzip`);
      expect(loaded.length).toBeGreaterThan(0);
      expect(bytes).toBeGreaterThan(50_000);
      expect(bytes).toBeLessThan(most);
      expect((await readdir(join(world.pagesFolder, 'assets'))).some((name) => /^chart-(?!data).*\.js$/.test(name))).toBe(true);
      expect(loaded.filter((name) => /chart-(?!data)/.test(name))).toEqual([]);
      await visit.close();
    });

    test(
      'the first contentful paint comes within a second',
      async () => {
        const times: number[] = [];
        const works: number[] = [];
        for (let round = 0; round < rounds; round += 1) {
          const { page, close } = await world.visit();
          const work = await workOf(page);
          const slowness = await slownessOf(page);
          await page.goto('/live/agents');
          await settle(page);
          works.push(await work());
          const time = await page.evaluate(
            () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.POSITIVE_INFINITY,
          );
          times.push(time / Math.max(slowness, await slownessOf(page)));
          await close();
        }
        report(`first contentful paint: ${describeTimes(times)} ms, processor time of the whole page ${describeTimes(works)} ms`);
        expect(median(works)).toBeLessThan(1_000);
        expect(Math.min(...times)).toBeGreaterThan(0);
        expect(median(times)).toBeLessThan(1_000);
      },
      startMs,
    );

    test(
      'with 1,000 agents an interaction is painted within 100 ms',
      async () => {
        for (let from = 0; from < 1_000; from += 50)
          await Promise.all(
            Array.from({ length: 50 }, (_, index) =>
              world.call('POST', '/v1/agents', { name: `Agent ${from + index}`, system_prompt: 'Answer.', data_scope: { tables: [] } }),
            ),
          );
        const { page, close } = await world.visit();
        await page.goto('/live/agents');
        await page.getByText(/1,0\d\d in all/).waitFor();
        const interactions = {
          'open a menu': {
            act: () =>
              page
                .getByRole('button', { name: /^Actions of/ })
                .nth(3)
                .click(),
            undo: () => page.keyboard.press('Escape'),
          },
          'next page': {
            act: () => page.getByRole('button', { name: 'Next' }).click(),
            undo: () => page.getByRole('button', { name: 'Previous' }).click(),
          },
          'open the palette': { act: () => page.keyboard.press('Control+k'), undo: () => page.keyboard.press('Escape') },
          // The last one: the list is searched a moment after the typing, and begins at its first page then.
          'type into the search': {
            act: () => page.getByRole('searchbox').pressSequentially('7'),
            undo: () => page.getByRole('searchbox').fill(''),
          },
        };
        await expectQuick(page, interactions);
        await close();
      },
      startMs,
    );
  });

const compressedSize = async (file: string): Promise<number> =>
  ((await stat(file)).size < 512 ? stat(file) : stat(`${file}.gz`)).then(({ size }) => size);

async function startConversation(world: PagesWorld): Promise<string> {
  const read = async (...request: Parameters<PagesWorld['call']>) => JSON.parse((await world.call(...request)).text).data;
  const { id } = await read('POST', '/v1/agents', { name: 'Hostile', system_prompt: 'Answer.', data_scope: { tables: ['customers'] } });
  await read('PATCH', `/v1/agents/${id}`, { status: 'active' });
  const { conversation_id: conversation } = await read('POST', `/v1/agents/${id}/messages`, { message: 'How many customers do we have?' });
  return `/live/chat/${id}/${conversation}`;
}
