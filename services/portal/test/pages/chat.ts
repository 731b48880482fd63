import { until } from '@agent-service/testkit';
import { describe, expect, test } from '@jest/globals';
import type { Page, Request } from 'playwright-core';
import { visitForEach } from './visit-for-each.ts';
import { type Json, type PagesWorld, rewrite, settle, type Visit } from './world.ts';

const stream = /\/messages\/stream$/;
const listOfMessages = /\/conversations\/[^/]+\/messages\?/;

interface Question {
  readonly key: string | undefined;
  readonly body: unknown;
}

const questionOf = (request: Request): Question => ({ key: request.headers()['idempotency-key'], body: request.postDataJSON() });

/** The first connection is lost behind the event `started`, when the answer is complete; the ones that continue it are refused until a test allows them. */
async function loseStream(page: Page) {
  const questions: Question[] = [];
  let isRefused = true;
  await page.route(stream, async (route) => {
    questions.push(questionOf(route.request()));
    if (questions.length > 1) {
      const error = { code: 'rate_limited', message: 'Too many requests.' };
      return await (isRefused ? route.fulfill({ status: 429, json: { error } }) : route.continue());
    }
    const response = await route.fetch();
    const [started = ''] = /^.*?event: started\n.*?\n\n/s.exec(await response.text()) ?? [];
    return await route.fulfill({ response, body: started });
  });
  return { questions, allow: () => void (isRefused = false) };
}

export const testChat = (started: () => PagesWorld) =>
  describe('a chat', () => {
    let world: PagesWorld;
    let paths: Record<string, string>;
    let visit: Visit;
    let page: Page;
    visitForEach(started, (opened) => {
      ({ world, paths, visit, page } = opened);
    });

    const box = () => page.getByRole('textbox', { name: 'Message' });
    const answers = () => page.getByRole('article', { name: 'Answer' });
    async function ask(question: string) {
      await visit.open(paths['chat-new'] ?? '');
      await box().fill(question);
      await page.keyboard.press('Enter');
    }
    /** The messages of the conversation on the page, as the API has them. */
    async function listedMessages(): Promise<Json[]> {
      const { pathname } = new URL(page.url());
      const [agent, conversation] = pathname.split('/').slice(3);
      return (await world.call('GET', `/v1/agents/${agent}/conversations/${conversation}/messages`)).json<{ data: Json[] }>().data;
    }

    /** Changes the answers in lists of messages. */
    const rewriteAnswers = (change: () => Json) =>
      rewrite(
        page,
        (body) => ({
          ...body,
          data: (body as { data: Json[] }).data.map((one) => (one['role'] === 'assistant' ? { ...one, ...change() } : one)),
        }),
        listOfMessages,
      );

    test('shows an answer that ended while its connection was lost', async () => {
      const { questions } = await loseStream(page);
      await ask('How many customers do we have?');
      await answers().waitFor();
      expect([questions.length, await page.getByText('Send it again').count()]).toEqual([2, 0]);
    });

    test('sends a question that may be answered again under its key, and with the body that it had', async () => {
      const { questions, allow } = await loseStream(page);
      const isAnswered = { current: false };
      await rewriteAnswers(() => (isAnswered.current ? {} : { status: 'running' }));
      await ask('How many customers do we have in each city?');
      const again = page.getByRole('button', { name: 'Send it again' });
      await again.waitFor();
      expect(await answers().count()).toBe(0);
      allow();
      isAnswered.current = true;
      await again.click();
      await answers().waitFor();
      await again.waitFor({ state: 'detached' });
      expect(questions).toEqual(Array.from({ length: questions.length }, () => questions[0]));
      expect(await listedMessages()).toHaveLength(2);
    });

    test('takes up a stream again whose connection has been silent for long', async () => {
      const questions: Question[] = [];
      await page.clock.install();
      await page.route(stream, async (route) => {
        questions.push(questionOf(route.request()));
        // The first one never gets a reply.
        if (questions.length > 1) await route.continue();
      });
      await ask('How many customers do we have in each status?');
      await until('the question is sent', () => questions.length === 1);
      await page.clock.fastForward(50_000);
      await answers().waitFor();
      expect(questions).toEqual([questions[0], questions[0]]);
    });

    /** Holds the stream of the first question back, and leads to the chat without a conversation. */
    async function holdStream() {
      const { promise, resolve: release } = Promise.withResolvers<void>();
      await page.route(stream, async (route) => {
        await promise;
        await route.continue();
      });
      return release;
    }

    test('keeps what is typed, and the cursor in it, while the first answer begins', async () => {
      const release = await holdStream();
      await ask('How many customers do we have in each segment?');
      await box().pressSequentially('And in each county?');
      await box().press('ArrowLeft');
      for (const _ of 'county') await box().press('ArrowLeft');
      release();
      await answers().waitFor();
      expect(page.url()).toContain('/conv_');
      await page.keyboard.type('large ');
      expect(await box().inputValue()).toBe('And in each large county?');
      await page.getByRole('link', { name: 'New conversation' }).click();
      await page.getByRole('heading', { level: 2, name: 'Customer insights' }).waitFor();
      expect(await box().inputValue()).toBe('');
      await page.goBack();
      await answers().waitFor();
      expect(await box().inputValue()).toBe('And in each large county?');
    });

    test('leaves a user who has gone to another page there', async () => {
      const release = await holdStream();
      await ask('How many customers do we have in each month?');
      await page.getByRole('link', { name: 'Templates', exact: true }).click();
      await page.getByRole('heading', { level: 1, name: 'Templates' }).waitFor();
      // The conversation gets its title when it has an id.
      const isNamed = page.waitForResponse((response) => response.request().method() === 'PATCH');
      release();
      await isNamed;
      await settle(page);
      expect(new URL(page.url()).pathname).toBe('/live/templates');
    });

    test('leaves the focus on the choice of the agent, and takes it from a link', async () => {
      await visit.open(paths['chat-new'] ?? '');
      const choice = page.getByRole('combobox', { name: 'Agent' });
      const before = await choice.inputValue();
      const values = await choice.locator('option').evaluateAll((all) => all.map((option) => option.getAttribute('value')));
      await choice.press(values.at(-1) === before ? 'ArrowUp' : 'ArrowDown');
      await page.waitForURL((url) => !url.pathname.endsWith(before));
      await settle(page);
      expect(await choice.and(page.locator(':focus')).count()).toBe(1);
      await page.goBack();
      await page.waitForURL((url) => url.pathname.endsWith(before));
      await settle(page);
      await page.getByRole('navigation', { name: 'Conversations' }).getByRole('listitem').getByRole('link').first().press('Enter');
      await page.waitForURL(/\/conv_\w+$/);
      await box().and(page.locator(':focus')).waitFor();
    });

    test('stores the opinion that was given last, however slow the one before is', async () => {
      const events: string[] = [];
      const { promise, resolve: release } = Promise.withResolvers<void>();
      await page.route(/\/feedback$/, async (route) => {
        const { score } = route.request().postDataJSON() as { score: number };
        events.push(`${score} is sent`);
        if (events.length === 1) await promise;
        const response = await route.fetch();
        events.push(`${score} is stored`);
        await route.fulfill({ response });
      });
      await visit.open(paths['chat'] ?? '');
      const opinion = (name: string) => page.getByRole('button', { name }).first();
      await opinion('Good answer').click();
      await until('the first opinion is sent', () => events.length === 1);
      await opinion('Bad answer').click();
      await page.evaluate('new Promise(requestAnimationFrame)');
      release();
      await opinion('Bad answer').and(page.locator('[aria-pressed="true"]')).waitFor({ timeout: 20_000 });
      await settle(page);
      expect(events).toEqual(['5 is sent', '5 is stored', '1 is sent', '1 is stored']);
    });

    test('that begins, is renamed or is deleted is seen at home at once', async () => {
      await visit.open('/live');
      const goTo = (name: string) => page.getByRole('link', { name, exact: true }).first().click();
      const recent = page.getByRole('region', { name: 'Your recent conversations' });
      const change = async (title: string, action: string) => {
        await page
          .getByRole('button', { name: `Actions of ${title}` })
          .first()
          .click();
        await page.getByRole('menuitem', { name: action }).click();
        await page.getByRole('dialog').waitFor();
      };
      await goTo('Chat');
      await page.waitForURL(/\/chat\/agt_\w+$/);
      await box().fill('How many customers are seen at home?');
      await page.keyboard.press('Enter');
      await answers().waitFor();
      await goTo('Home');
      await recent.getByText('How many customers are seen at home?').click({ timeout: 9_000 });
      await change('How many customers are seen at home?', 'Rename');
      await page.getByRole('textbox', { name: 'Title' }).fill('Seen at home');
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await goTo('Home');
      await recent.getByText('Seen at home', { exact: true }).click({ timeout: 9_000 });
      await change('Seen at home', 'Delete');
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await goTo('Home');
      await recent.getByText('Seen at home', { exact: true }).waitFor({ state: 'detached', timeout: 9_000 });
    });

    test('tells the age of a conversation as time passes', async () => {
      await page.clock.install();
      await visit.open(paths['chat'] ?? '');
      const age = page.getByRole('navigation', { name: 'Conversations' }).getByRole('listitem').first().locator('time');
      expect(await age.innerText()).toMatch(/^just now|minutes? ago$/);
      await page.clock.fastForward('03:00:00');
      await age.getByText('3 hours ago').waitFor();
    });

    test('goes on after a part of the pages could not be loaded', async () => {
      const part = /\/assets\/markdown-[^/]*\.js$/;
      await page.route(part, (route) => route.abort());
      await page.goto(paths['chat'] ?? '');
      await page.getByText('This could not be loaded').waitFor();
      await page.unroute(part);
      await page.getByRole('button', { name: 'Try again' }).click();
      await answers().waitFor();
      // The browser says which file it did not get.
      visit.problems.length = 0;
    });

    test('cancels an answer that began before a reload, or in another window', async () => {
      let isCancelled = false;
      const content = 'The answer was cancelled. Business data had been changed before, and stays changed.';
      await rewriteAnswers(() => (isCancelled ? { status: 'cancelled', content } : { status: 'running' }));
      await page.route(/\/cancel$/, async (route) => {
        isCancelled = true;
        await route.fulfill({ json: { data: {} } });
      });
      const sent: string[] = [];
      page.on('request', (request) => void (stream.test(request.url()) && sent.push(request.url())));
      await page.goto(paths['chat'] ?? '');
      await page.getByText('The answer is being written').waitFor();
      await box().fill('A message that would be refused');
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Cancel the answer' }).click();
      await page.getByText(content, { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
      expect([sent, await box().inputValue()]).toEqual([[], 'A message that would be refused']);
      expect(await box().evaluate((element) => element.matches(':focus'))).toBe(true);
    });

    test('says that an answer of before a reload is being written, and shows it when it ends', async () => {
      let isWritten = false;
      await rewriteAnswers(() => (isWritten ? {} : { status: 'running', content: '' }));
      await page.goto(paths['chat'] ?? '');
      await page.getByRole('status').getByText('The answer is being written').waitFor();
      expect(await answers().count()).toBe(0);
      isWritten = true;
      await answers().waitFor();
    });

    test('reads an answer that another window began by itself, and the conversation once it has ended', async () => {
      let status = 'running';
      const isOne = /\/messages\/msg_\w+$/;
      const change = (message: Json) => (message['role'] === 'assistant' ? { ...message, status } : message);
      await rewrite(
        page,
        (body) => ({ ...body, data: Array.isArray(body['data']) ? body['data'].map(change) : change(body['data'] as Json) }),
        new RegExp(`${listOfMessages.source}|${isOne.source}`),
      );
      const reads = { list: 0, one: 0 };
      page.on('request', (request) => {
        if (listOfMessages.test(request.url())) reads.list += 1;
        if (isOne.test(request.url())) reads.one += 1;
      });
      await page.goto(paths['chat'] ?? '');
      await page.getByRole('status').getByText('The answer is being written').waitFor();
      await until('the answer is read twice', () => reads.one >= 2);
      expect(reads.list).toBe(1);
      status = 'completed';
      await answers().waitFor();
      await settle(page);
      expect(reads.list).toBe(2);
    });

    /** Sends a message in the conversation of the tests. Its stream ends with this event. */
    async function askWithEnd(name: string, data: object) {
      const eventOf = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify(fields)}\n\n`;
      const started = eventOf('started', { message_id: 'msg_pending', conversation_id: paths['chat']?.split('/').at(-1) });
      await page.route(stream, (route) => route.fulfill({ contentType: 'text/event-stream', body: started + eventOf(name, data) }));
      await visit.open(paths['chat'] ?? '');
      await box().fill('A question with this end');
      const isEnded = page.waitForResponse(stream);
      await page.keyboard.press('Enter');
      await isEnded;
      await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
      await settle(page);
    }

    test('raises no alarm about an answer that the user has cancelled', async () => {
      await askWithEnd('failed', { error: { code: 'answer_cancelled', message: 'The answer was cancelled.' } });
      expect(await page.getByRole('alert').count()).toBe(0);
    });

    test('says once why an answer failed: in the notice until that is dismissed, and then in its place', async () => {
      const reason = 'The model gave up. Business data had been changed before, and stays changed.';
      await rewriteAnswers(() => ({ id: 'msg_pending', status: 'failed', content: `This message could not be answered. ${reason}` }));
      await askWithEnd('failed', { error: { code: 'provider_error', message: reason } });
      expect(await page.getByText(reason).allInnerTexts()).toEqual([expect.stringContaining(`${reason} Send it again`)]);
      await page.getByRole('button', { name: 'dismiss' }).click();
      await page.getByText(`This message could not be answered. ${reason}`, { exact: true }).waitFor();
      expect(await page.getByRole('alert').count()).toBe(0);
    });

    test.each(['failed', 'cancelled'])('says of an answer without a text that it ended as %s', async (status) => {
      await rewriteAnswers(() => ({ status, content: '' }));
      await page.goto(paths['chat'] ?? '');
      await page.getByText(new RegExp(`^This answer (was )?${status}. It cost nothing.$`)).waitFor();
    });

    test('reads an end of a stream whose text has the line separators of Unicode', async () => {
      const sent: string[] = [];
      page.on('request', (request) => void (stream.test(request.url()) && sent.push(request.url())));
      await askWithEnd('completed', { content: 'One\u2028two\u2029three' });
      expect([sent.length, await page.getByRole('alert').count()]).toEqual([1, 0]);
    });

    test('says that an answer could not be read', async () => {
      await ask('How many products do we have?');
      await answers().waitFor();
      await settle(page);
      await page.route(listOfMessages, (route) =>
        route.fulfill({ status: 429, json: { error: { code: 'rate_limited', message: 'Too many requests.' } } }),
      );
      await box().fill('How many products do we have in each category?');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').getByText('Too many requests.').waitFor({ timeout: 20_000 });
      await page.unroute(listOfMessages);
      await page.getByRole('button', { name: 'Read the messages again' }).click();
      await answers().nth(1).waitFor();
      expect(await page.getByText('Too many requests.').count()).toBe(0);
    });

    test('names a conversation by whole characters of its first question', async () => {
      const isNamed = page.waitForResponse((response) => response.request().method() === 'PATCH');
      await ask(`${'How many customers do we have? '.repeat(3).slice(0, 79)}😀 Please.`);
      expect((await isNamed).status()).toBe(200);
      await answers().waitFor();
    });

    test('sends nothing when Enter ends the input of a word, also in Safari', async () => {
      await visit.open(paths['chat-new'] ?? '');
      await box().fill('こんにちは');
      await box().dispatchEvent('keydown', { key: 'Enter', keyCode: 229 });
      await settle(page);
      expect(await box().inputValue()).toBe('こんにちは');
    });

    test('gives the text of a question that was refused back', async () => {
      const error = { code: 'insufficient_credits', message: 'No credits are left.' };
      await page.route(stream, (route) => route.fulfill({ status: 402, json: { error } }));
      await ask('How many orders do we have in all?');
      await page.getByText(error.message).waitFor();
      expect(await box().inputValue()).toBe('');
      await page.getByRole('button', { name: 'dismiss' }).click();
      await page.getByText(error.message).waitFor({ state: 'detached' });
      expect(await box().inputValue()).toBe('How many orders do we have in all?');
    });

    test('gives a question that was refused another key', async () => {
      const questions: Question[] = [];
      await page.route(stream, async (route) => {
        questions.push(questionOf(route.request()));
        if (questions.length > 1) return await route.continue();
        return await route.fulfill({ status: 402, json: { error: { code: 'insufficient_credits', message: 'No credits are left.' } } });
      });
      await ask('How many orders do we have?');
      await page.getByText('No credits are left.').waitFor();
      await page.getByRole('button', { name: 'Send it again' }).click();
      await answers().waitFor();
      expect(new Set(questions.map(({ key }) => key)).size).toBe(2);
    });
  });
