import type { ModelReply } from '@agent-service/testkit';
import { until } from '@agent-service/testkit';
import { abortable } from '@agent-service/work';
import { describe, expect, test } from '@jest/globals';
import type { Models } from '../src/models.ts';
import { failing, good, refusal, twoEndpoints } from './endpoints.ts';
import { ask, metric } from './harness.ts';

const endpoints = twoEndpoints();

describe('the breaker', () => {
  const fail = (models: Models) => ask(models).catch(() => undefined);

  test('opens after twenty failures in a row, then uses the fallback at once, and probes after five seconds', async () => {
    endpoints.reply(failing);
    const { models, pass, metrics } = endpoints.open();
    for (let answers = 0; answers < 7; answers += 1) await ask(models);
    expect(endpoints.calls()).toEqual({ main: 20, spare: 7 });
    expect(await metric(metrics, 'model_breaker_open', {})).toBe(1);
    pass(4_999);
    await Promise.all(Array.from({ length: 10 }, () => ask(models)));
    expect(endpoints.calls()).toEqual({ main: 20, spare: 17 });
    pass(1);
    endpoints.reply({ ...good, delayMs: 50 } as ModelReply);
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(models)));
    expect(answers.filter(({ content }) => content === good.text)).toHaveLength(1);
    expect(await metric(metrics, 'model_breaker_open', {})).toBe(0);
    expect(await ask(models)).toMatchObject({ content: good.text });
  });

  test('stays closed where requests fail for what they ask or for what the model wrote', async () => {
    const { models, metrics } = endpoints.open({ alone: true });
    for (const code of ['tool_use_failed', 'context_length_exceeded']) {
      const body = `data: ${JSON.stringify({ error: { type: 'invalid_request_error', code } })}\n\n`;
      endpoints.reply({ kind: 'raw', headers: { 'content-type': 'text/event-stream' }, body });
      for (let answers = 0; answers < 21; answers += 1) await ask(models, { stream: true }).catch(() => undefined);
    }
    expect(endpoints.calls().main).toBe(21 * 3 + 21);
    expect(await metric(metrics, 'model_breaker_open', {})).toBe(0);
  });

  test('without a fallback, waits for one probe and then fails; a failed probe leaves it open', async () => {
    endpoints.reply(failing);
    const { models, pass, pauses } = endpoints.open({ alone: true });
    for (let answers = 0; answers < 7; answers += 1) await fail(models);
    const callsBefore = endpoints.calls().main;
    pauses.length = 0;
    const failure = await refusal(ask(models));
    expect(pauses).toEqual([5_000]);
    expect(failure).toMatchObject({ code: 'provider_error', details: { reason: 'circuit_open' } });
    expect(endpoints.calls().main).toBe(callsBefore);
    pass(5_000);
    await fail(models);
    const tried = endpoints.calls().main;
    expect(tried - callsBefore).toBeGreaterThanOrEqual(1);
    await fail(models);
    expect(endpoints.calls().main).toBe(tried);
  });

  test('while it is open all answers wait for one probe, and continue when it succeeds', async () => {
    endpoints.reply(failing);
    let left: (ms: number) => void = () => undefined;
    const pauses: number[] = [];
    const over = Promise.withResolvers<void>();
    const pause = async (ms: number, signal: AbortSignal) => {
      if (opening) return;
      pauses.push(ms);
      // The time until the probe passes for all at once; the limit of waiting for its outcome never passes.
      if (pauses.length === 10) left(5_000);
      await (pauses.length <= 10 ? over.promise : abortable(new Promise<void>(() => undefined), signal));
    };
    let opening = true;
    const { models, pass } = endpoints.open({ alone: true, conditions: { pause } });
    for (let answers = 0; answers < 7; answers += 1) await fail(models);
    opening = false;
    left = (ms) => {
      pass(ms);
      over.resolve();
    };
    const before = endpoints.calls().main;
    let running = 0;
    let most = 0;
    endpoints.main.follow(async () => {
      running += 1;
      most = Math.max(most, running);
      if (endpoints.calls().main === before + 1) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        expect(running).toBe(1);
      }
      running -= 1;
      return good;
    });
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(models)));
    expect(answers.map(({ content }) => content)).toEqual(answers.map(() => good.text));
    expect(endpoints.calls().main - before).toBe(10);
    expect(pauses.slice(0, 10)).toEqual(Array(10).fill(5_000));
  });

  test('lets another tenant probe while the probe of one does not end', async () => {
    endpoints.reply(failing);
    const { models, pass } = endpoints.open({ alone: true });
    for (let answers = 0; answers < 7; answers += 1) await fail(models);
    pass(5_000);
    endpoints.main.follow(({ messages }) => (JSON.stringify(messages).includes('endless') ? { kind: 'silence' } : good));
    const before = endpoints.calls().main;
    const leaving = new AbortController();
    const endless = ask(models, { tenant: 'org_slow', message: 'endless' }, leaving.signal).catch(() => undefined);
    await until(() => endpoints.calls().main === before + 1);
    expect(await ask(models, { tenant: 'org_other' })).toMatchObject({ content: good.text });
    leaving.abort();
    await endless;
  });

  test('does not delay an answer whose caller has aborted it', async () => {
    endpoints.reply(failing);
    const abort = new AbortController();
    const reason = new Error('no longer needed');
    let opening = true;
    const pause = async (_ms: number, signal: AbortSignal) => {
      if (opening) return;
      abort.abort(reason);
      await abortable(new Promise<void>(() => undefined), signal);
    };
    const { models } = endpoints.open({ alone: true, conditions: { pause } });
    for (let answers = 0; answers < 7; answers += 1) await fail(models);
    opening = false;
    await expect(ask(models, {}, abort.signal)).rejects.toBe(reason);
  });

  test('takes no attempts from answers under way: fifty failures at once fail none of them', async () => {
    const failedQuestions = new Set<string>();
    endpoints.main.follow(({ messages }) => {
      const question = JSON.stringify(messages.at(-1));
      const isFirst = !failedQuestions.has(question);
      failedQuestions.add(question);
      return isFirst ? failing : good;
    });
    const all = Promise.withResolvers<void>();
    let failed = 0;
    const pause = () => {
      failed += 1;
      if (failed === 50) all.resolve();
      return all.promise;
    };
    const { models, metrics } = endpoints.open({ alone: true, conditions: { pause } });
    const answers = await Promise.all(Array.from({ length: 50 }, (_, number) => ask(models, { message: `Question ${number}` })));
    expect(endpoints.calls().main).toBe(100);
    expect(await metric(metrics, 'model_breaker_open', {})).toBe(0);
    expect(answers.every(({ content }) => content === good.text)).toBe(true);
  });

  test('is not opened by refused requests or by aborts of callers', async () => {
    const { models } = endpoints.open({ alone: true });
    endpoints.reply({ kind: 'failure', status: 400 });
    for (let answers = 0; answers < 25; answers += 1) await fail(models);
    endpoints.reply({ kind: 'silence' });
    const before = endpoints.calls().main;
    const abort = new AbortController();
    const waiting = Array.from({ length: 25 }, () => ask(models, {}, abort.signal).catch(() => undefined));
    await until(() => endpoints.calls().main === before + 25);
    abort.abort();
    await Promise.all(waiting);
    endpoints.reply(good);
    expect(await ask(models)).toMatchObject({ content: good.text });
  });
});
