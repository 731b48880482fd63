// Pictures of every page for docs/portal: npm run test:long -- screenshots
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { type PagesWorld, preparePaths, publicPaths, settle, startPages, type Visit } from './world.ts';

const startMs = 180_000;
const everyPageMs = 600_000;
const folder = fileURLToPath(new URL('../../../../docs/portal/', import.meta.url));
const quality = 0.72;
const isWritten = process.env['SCREENSHOTS'] === 'write';

(isWritten ? describe : describe.skip)('pictures of the portal', () => {
  let world: PagesWorld;
  let paths: Record<string, string>;
  beforeAll(async () => {
    world = await startPages();
    // It leads to a new chat.
    const { 'chat-start': _, ...pictured } = await preparePaths(world);
    paths = pictured;
    await spendCredits(world, paths);
    await joinSecondOrganization(world);
    for (const look of ['light', 'dark', 'phone']) {
      await rm(join(folder, look), { recursive: true, force: true });
      await mkdir(join(folder, look), { recursive: true });
    }
  }, startMs);
  afterAll(() => world?.stop());

  test.each([
    ['light', {}],
    ['dark', { scheme: 'dark' }],
    ['phone', { phone: true }],
  ] as const)(
    '%s',
    async (look, options) => {
      const inside = await world.visit(options);
      const outside = await world.visit({ ...options, signedIn: false });
      const { 'choose-organization': choice, ...entrances } = { ...publicPaths, ...(await prepareLinks(inside)) };
      for (const [names, visit] of [
        [paths, inside],
        [entrances, outside],
      ] as const)
        for (const [name, path] of Object.entries(names)) {
          await visit.open(path);
          await settle(visit.page);
          await writeFile(join(folder, look, `${name}.webp`), await picture(visit.page));
        }
      await signInAtProvider(outside.page, outside.open);
      await outside.page.waitForURL((url) => url.pathname === choice);
      await settle(outside.page);
      await writeFile(join(folder, look, 'choose-organization.webp'), await picture(outside.page));
      await inside.open('/live');
      await inside.page.keyboard.press('Control+k');
      await inside.page.getByRole('combobox').fill('customer');
      await inside.page.getByRole('option', { name: 'Customers by country · Customer insights' }).waitFor();
      await settle(inside.page);
      await writeFile(join(folder, look, 'search.webp'), await picture(inside.page));
      expect([...inside.problems, ...outside.problems]).toEqual([]);
      await inside.close();
      await outside.close();
    },
    everyPageMs,
  );
});

/** The links that an administrator gives to people. */
async function prepareLinks({ page, open }: Visit): Promise<{ invitation: string; 'password-reset': string }> {
  await open('/live/users');
  return await page.evaluate(async () => {
    const read = async (path: string, options: object = {}) => ((await (await fetch(path, options)).json()) as { data: never }).data;
    const { csrf_token: csrf } = (await read('/api/session')) as { csrf_token: string };
    const headers = { 'x-csrf-token': csrf, 'content-type': 'application/json' };
    const invited = JSON.stringify({ email: 'lin@demonstration.example', role: 'member' });
    const users = (await read('/api/live/v1/users')) as { id: string; email: string }[];
    const member = users.find(({ email }) => email.startsWith('grace'))?.id;
    const { link: invitation } = (await read('/api/invitations', { method: 'POST', headers, body: invited })) as { link: string };
    const resetRequest = { method: 'POST', headers: { 'x-csrf-token': csrf } };
    const { link: reset } = (await read(`/api/users/${member}/reset-link`, resetRequest)) as { link: string };
    const pathOf = (link: string) => new URL(link).pathname + new URL(link).search;
    return { invitation: pathOf(invitation), 'password-reset': pathOf(reset) };
  });
}

const colleague = 'grace@demonstration.example';

/** A user of two organizations, who has signed in to one of them with an identity provider. */
async function joinSecondOrganization(world: PagesWorld): Promise<void> {
  const { page, open, close } = await world.visit({ signedIn: false });
  world.provider.script({ email: colleague });
  await signInAtProvider(page, open);
  await page.getByRole('heading', { level: 1, name: /^Welcome/ }).waitFor();
  await close();
  await world.makeOrganization('Northwind Logistics', { email: colleague });
}

async function signInAtProvider(page: Page, open: Visit['open']): Promise<void> {
  await open('/sign-in');
  await page.getByRole('link', { name: 'Sign in with your organization' }).click();
}

/** A few answers, so that charts have something to show. */
async function spendCredits(world: PagesWorld, paths: Record<string, string>): Promise<void> {
  const agent = paths['agent']?.split('/').at(-1);
  for (const [title, message] of [
    ['Top customers of the year', 'Who are our top 10 customers by revenue this year?'],
    ['Customers by country', 'How many active customers do we have by country?'],
  ]) {
    const reply = await world.call('POST', `/v1/agents/${agent}/messages`, { message });
    const { conversation_id: conversation } = reply.json<{ data: { conversation_id: string } }>().data;
    await world.call('PATCH', `/v1/agents/${agent}/conversations/${conversation}`, { title });
  }
}

/** WebP, which the browser makes from its own picture: a fifth of the size of PNG. */
async function picture(page: Page): Promise<Buffer> {
  const png = (await page.screenshot()).toString('base64');
  const blank = await page.context().newPage();
  const webp = await blank.evaluate<string>(`(async () => {
    const bytes = Uint8Array.from(atob('${png}'), (letter) => letter.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const canvas = new OffscreenCanvas(image.width, image.height);
    canvas.getContext('2d').drawImage(image, 0, 0);
    const blob = await canvas.convertToBlob({ type: 'image/webp', quality: ${quality} });
    const result = new Uint8Array(await blob.arrayBuffer());
    let text = '';
    for (const byte of result) text += String.fromCharCode(byte);
    return btoa(text);
  })()`);
  await blank.close();
  return Buffer.from(webp, 'base64');
}
