import { checkProperty } from '@agent-service/testkit/properties';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createBreaker } from './breaker.ts';

function open(failures = 3) {
  let now = 0;
  const changes: boolean[] = [];
  const breaker = createBreaker({ now: () => now, failures, pauseMs: 100, onChange: (isOpen) => void changes.push(isOpen) });
  const fail = (times: number) => {
    for (let time = 0; time < times; time += 1) breaker.enter()?.fail();
  };
  return { breaker, changes, fail, pass: (ms: number) => void (now += ms) };
}

describe('the breaker', () => {
  test('opens at the third failure in a row; a success resets the count', () => {
    const { breaker, changes, fail } = open();
    fail(2);
    breaker.enter()?.succeed();
    fail(2);
    expect(changes).toEqual([]);
    fail(1);
    expect(changes).toEqual([true]);
    expect(breaker.enter()).toBeUndefined();
  });

  test('admits one probe after the pause; its success closes the breaker, its failure restarts the pause', () => {
    const { breaker, changes, fail, pass } = open();
    fail(3);
    pass(100);
    const first = breaker.enter();
    expect([first === undefined, breaker.enter()]).toEqual([false, undefined]);
    first?.fail();
    pass(99);
    expect(breaker.enter()).toBeUndefined();
    pass(1);
    breaker.enter()?.succeed();
    expect(changes).toEqual([true, false]);
    expect(breaker.enter() && breaker.enter()).toBeDefined();
  });

  test('after a dropped probe the next call is the probe', () => {
    const { breaker, fail, pass } = open();
    fail(3);
    pass(100);
    breaker.enter()?.drop();
    expect(breaker.enter()).toBeDefined();
  });

  test('reports the time until the next probe, and the end of a probe with any outcome', async () => {
    for (const how of ['succeed', 'fail', 'drop'] as const) {
      const { breaker, fail, pass } = open();
      expect(breaker.state()).toEqual({ probeInMs: 0 });
      fail(3);
      pass(30);
      expect(breaker.state()).toEqual({ probeInMs: 70 });
      pass(100);
      const probe = breaker.enter();
      const { probed } = breaker.state();
      let ended = false;
      void probed?.then(() => (ended = true));
      await Promise.resolve();
      expect([probed === undefined, ended]).toEqual([false, false]);
      probe?.[how]();
      await probed;
      expect(breaker.state()).toEqual({ probeInMs: how === 'fail' ? 100 : 0 });
    }
  });

  test('calls from before it opened neither extend the pause nor end the probe; their success closes it', () => {
    const { breaker, changes, fail, pass } = open();
    const [early, late] = [breaker.enter(), breaker.enter()];
    fail(3);
    pass(99);
    early?.fail();
    pass(1);
    const probe = breaker.enter();
    expect(probe).toBeDefined();
    late?.succeed();
    expect(changes).toEqual([true, false]);
  });

  test('a continued attempt gets a permit while it is open and is not the probe', () => {
    const { breaker, fail, pass } = open();
    fail(3);
    breaker.enter({ continues: true })?.fail();
    expect(breaker.enter()).toBeUndefined();
    pass(100);
    expect(breaker.enter({ continues: true })).toBeDefined();
    expect(breaker.enter()).toBeDefined();
  });

  test('admits one call at a time after it opened, however calls end, and always admits a next one', () => {
    const end = fc.constantFrom('fail' as const, 'drop' as const);
    checkProperty(
      fc.property(fc.array(fc.tuple(end, fc.nat(150)), { maxLength: 100 }), (calls) => {
        const { breaker, fail, pass } = open();
        fail(3);
        for (const [how, ms] of calls) {
          pass(ms);
          const permit = breaker.enter();
          expect(breaker.enter()).toBeUndefined();
          permit?.[how]();
        }
        pass(100);
        expect(breaker.enter()).toBeDefined();
      }),
    );
  });
});
