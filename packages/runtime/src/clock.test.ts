import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createClock } from './clock.ts';

const day = 86_400_000;

test('the clock follows its peer however wrong the clock of the computer is, and knows the difference', () => {
  for (const aheadMs of [0, 1_200, 20_000, 40 * day, -40 * day]) {
    let elapsed = 1_000;
    const peer = () => 1_700_000_000_000 + elapsed;
    const clock = createClock({ monotonic: () => elapsed, wall: () => peer() + aheadMs });
    const { sample } = clock.follow();
    expect(() => clock.check()).toThrow('not been measured');
    sample(peer(), elapsed - 2, elapsed + 2);
    elapsed += 5_000;
    expect(Math.abs(clock.now() - peer())).toBeLessThanOrEqual(2);
    expect(Math.abs(clock.aheadMs - aheadMs)).toBeLessThanOrEqual(2);
    if (Math.abs(aheadMs) < 2_000) clock.check();
    else expect(() => clock.check()).toThrow('ms ahead of the clock');
  }
});

test('a process that follows no clock uses its own and is ready', () => {
  const clock = createClock({ monotonic: () => 0, wall: () => 123.7 });
  clock.check();
  expect([clock.now(), clock.aheadMs]).toEqual([123, 0]);
});

test('samples narrow the bounds, and a sample that contradicts them means that a clock was set', () => {
  let elapsed = 0;
  const clock = createClock({ monotonic: () => elapsed, wall: () => elapsed });
  const { sample } = clock.follow();
  sample(1_000_000, 0, 800);
  sample(1_000_900, 890, 900);
  elapsed = 900;
  expect(Math.abs(clock.now() - 1_000_905)).toBeLessThanOrEqual(10);
  // A slow sample has wide bounds and does not widen those of the best one.
  sample(1_001_500, 1_000, 9_000);
  expect(Math.abs(clock.now() - 1_000_905)).toBeLessThanOrEqual(20);
  elapsed = 9_000;
  sample(5_000_000, 8_999, 9_001);
  expect(Math.abs(clock.now() - 5_000_000)).toBeLessThanOrEqual(1);
});

test('with any delays and drift, the error stays within the bounds of the best sample', () => {
  const delay = fc.integer({ min: 0, max: 2_000 });
  fc.assert(
    fc.property(fc.array(fc.tuple(delay, delay, fc.integer({ min: 1, max: 60_000 })), { minLength: 1, maxLength: 30 }), (steps) => {
      const drift = 100e-6;
      let elapsed = 0;
      const peer = () => 1_700_000_000_000 + elapsed * (1 + drift);
      const clock = createClock({ monotonic: () => elapsed, wall: () => 0 });
      const { sample } = clock.follow();
      for (const [there, back, gap] of steps) {
        const beganAt = elapsed;
        elapsed += there;
        const peerMs = peer();
        elapsed += back;
        sample(peerMs, beganAt, elapsed);
        expect(Math.abs(clock.now() - peer())).toBeLessThanOrEqual(there + back + 2);
        elapsed += gap;
      }
    }),
  );
});
