import { checkProperty } from '@agent-service/testkit/properties';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createBreaker } from './breaker.ts';

const tenant = 'a';

function open(failures = 3) {
  let now = 0;
  const changes: boolean[] = [];
  const breaker = createBreaker({ now: () => now, failures, pauseMs: 100, onChange: (isOpen) => void changes.push(isOpen) });
  const fail = (times: number) => {
    for (let time = 0; time < times; time += 1) breaker.enter(tenant)?.fail();
  };
  return { breaker, changes, fail, pass: (ms: number) => void (now += ms) };
}

describe('the breaker', () => {
  test('opens at the third failure in a row; a success resets the count', () => {
    const { breaker, changes, fail } = open();
    fail(2);
    breaker.enter(tenant)?.succeed();
    fail(2);
    expect(changes).toEqual([]);
    fail(1);
    expect(changes).toEqual([true]);
    expect(breaker.enter(tenant)).toBeUndefined();
  });

  test('admits one probe after the pause; its success closes the breaker, its failure restarts the pause', () => {
    const { breaker, changes, fail, pass } = open();
    fail(3);
    pass(100);
    const first = breaker.enter(tenant);
    expect([first === undefined, breaker.enter(tenant)]).toEqual([false, undefined]);
    first?.fail();
    pass(99);
    expect(breaker.enter(tenant)).toBeUndefined();
    pass(1);
    breaker.enter(tenant)?.succeed();
    expect(changes).toEqual([true, false]);
    expect(breaker.enter(tenant) && breaker.enter(tenant)).toBeDefined();
  });

  test('a tenant whose probe does not end leaves probes to others, of which one closes the breaker; three probe at once', () => {
    const { breaker, changes, fail, pass } = open();
    fail(3);
    pass(100);
    const slow = breaker.enter('slow');
    expect([slow === undefined, breaker.enter('slow')]).toEqual([false, undefined]);
    expect(breaker.state('slow').probed).toBeDefined();
    expect(breaker.state('b')).toEqual({ probeInMs: 0 });
    const [second, third] = [breaker.enter('b'), breaker.enter('c')];
    expect([second === undefined, third === undefined, breaker.enter('d')]).toEqual([false, false, undefined]);
    expect(breaker.state('d').probed).toBeDefined();
    second?.succeed();
    expect(changes).toEqual([true, false]);
    slow?.fail();
    third?.fail();
    expect([changes, breaker.enter('d') === undefined]).toEqual([[true, false], false]);
  });

  test('after a dropped probe the next call is the probe', () => {
    const { breaker, fail, pass } = open();
    fail(3);
    pass(100);
    breaker.enter(tenant)?.drop();
    expect(breaker.enter(tenant)).toBeDefined();
  });

  test('reports the time until the next probe, and the end of a probe with any outcome', async () => {
    for (const how of ['succeed', 'fail', 'drop'] as const) {
      const { breaker, fail, pass } = open();
      expect(breaker.state(tenant)).toEqual({ probeInMs: 0 });
      fail(3);
      pass(30);
      expect(breaker.state(tenant)).toEqual({ probeInMs: 70 });
      pass(100);
      const probe = breaker.enter(tenant);
      const { probed } = breaker.state(tenant);
      let ended = false;
      void probed?.then(() => (ended = true));
      await Promise.resolve();
      expect([probed === undefined, ended]).toEqual([false, false]);
      probe?.[how]();
      await probed;
      expect(breaker.state(tenant)).toEqual({ probeInMs: how === 'fail' ? 100 : 0 });
    }
  });

  test('calls from before it opened neither extend the pause nor end the probe; their success closes it', () => {
    const { breaker, changes, fail, pass } = open();
    const [early, late] = [breaker.enter(tenant), breaker.enter(tenant)];
    fail(3);
    pass(99);
    early?.fail();
    pass(1);
    const probe = breaker.enter(tenant);
    expect(probe).toBeDefined();
    late?.succeed();
    expect(changes).toEqual([true, false]);
  });

  test('a continued attempt gets a permit while it is open and is not the probe', () => {
    const { breaker, fail, pass } = open();
    fail(3);
    breaker.enter(tenant, { continues: true })?.fail();
    expect(breaker.enter(tenant)).toBeUndefined();
    pass(100);
    expect(breaker.enter(tenant, { continues: true })).toBeDefined();
    expect(breaker.enter(tenant)).toBeDefined();
  });

  test('admits one call at a time after it opened, however calls end, and always admits a next one', () => {
    const end = fc.constantFrom('fail' as const, 'drop' as const);
    checkProperty(
      fc.property(fc.array(fc.tuple(end, fc.nat(150)), { maxLength: 100 }), (calls) => {
        const { breaker, fail, pass } = open();
        fail(3);
        for (const [how, ms] of calls) {
          pass(ms);
          const permit = breaker.enter(tenant);
          expect(breaker.enter(tenant)).toBeUndefined();
          permit?.[how]();
        }
        pass(100);
        expect(breaker.enter(tenant)).toBeDefined();
      }),
    );
  });
});
