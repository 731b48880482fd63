import { ServiceError } from '@agent-service/contracts';
import { type ModelReply, type ScriptedModel, scriptedModel } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { Models } from '../src/models.ts';
import { type TestModelsOptions, testModels } from './harness.ts';

export const good = { kind: 'text', text: 'All went well.' } as const;
export const failing: ModelReply = { kind: 'failure', status: 503 };
/** The content of every answer of the spare endpoint. */
export const spareContent = 'From the spare one.';

interface Opening extends Omit<TestModelsOptions, 'endpoints'> {
  endpoint?: object;
  fallback?: object;
  /** Without the spare endpoint as a fallback. */
  alone?: boolean;
}

/** A scripted endpoint and a spare one as its fallback, started before the tests of a file and stopped after them. */
export function twoEndpoints() {
  let main: ScriptedModel;
  let spare: ScriptedModel;
  const callsBefore = { main: 0, spare: 0 };
  const opened: Models[] = [];
  beforeAll(async () => {
    main = await scriptedModel(() => good);
    spare = await scriptedModel(() => good);
  });
  afterAll(async () => {
    await main?.stop();
    await spare?.stop();
  });
  beforeEach(() => {
    callsBefore.main = main.calls.length;
    callsBefore.spare = spare.calls.length;
    spare.follow(() => ({ kind: 'text', text: spareContent }));
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((models) => models.close()));
  });
  return {
    get main() {
      return main;
    },
    get spare() {
      return spare;
    },
    /** Calls of the endpoints in this test. */
    calls: () => ({ main: main.calls.length - callsBefore.main, spare: spare.calls.length - callsBefore.spare }),
    open({ endpoint, fallback, alone = false, ...options }: Opening = {}) {
      const first = { baseUrl: main.url, ...endpoint };
      const test = testModels({ ...options, endpoints: alone ? [first] : [first, { baseUrl: spare.url, ...fallback }] });
      opened.push(test.models);
      return test;
    },
    /** The main endpoint gives these replies one after the other, and then always the last one. */
    reply(...script: ModelReply[]) {
      const first = main.calls.length;
      main.follow((_, call) => script[Math.min(call - first, script.length) - 1] ?? good);
    },
  };
}

/** The error with which the answer was rejected. */
export async function refusal(answer: Promise<unknown>): Promise<ServiceError> {
  const failure = await answer.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (failure instanceof ServiceError) return failure;
  throw new Error('not refused as a ServiceError', { cause: failure });
}
