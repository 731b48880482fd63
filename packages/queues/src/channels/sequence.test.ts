import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createGapDetector, createNumbering } from './sequence.ts';

describe('the numbers of parcels', () => {
  test('tell exactly when one of a publisher is missing, however publishers and channels are mixed', () => {
    const sends = fc.array(fc.record({ publisher: fc.nat(2), channel: fc.nat(2), lost: fc.boolean() }), { maxLength: 60 });
    fc.assert(
      fc.property(sends, (all) => {
        const numberOf = [0, 1, 2].map(() => createNumbering());
        const missing = [0, 1, 2].map(() => createGapDetector());
        const lostSince = new Set<string>();
        for (const { publisher, channel, lost } of all) {
          const number = numberOf[publisher]?.(String(channel)) ?? 0;
          const way = `${publisher} ${channel}`;
          if (lost) lostSince.add(way);
          else expect(missing[channel]?.(String(publisher), number)).toBe(lostSince.delete(way));
        }
      }),
    );
  });

  test('begin again without a gap after their publisher or their channel was forgotten', () => {
    const numberOf = createNumbering();
    const missing = createGapDetector();
    expect(missing('one', numberOf('channel'))).toBe(false);
    expect(missing('one', numberOf('channel'))).toBe(false);
    for (let other = 0; other < 10_000; other++) numberOf(`channel-${other}`);
    expect(missing('one', numberOf('channel'))).toBe(false);
  });

  test('show no gap for parcels that come a second time, nor behind them', () => {
    const missing = createGapDetector();
    for (const number of [1, 2, 3, 1, 2, 4, 1, 5, 3, 6]) expect(missing('one', number)).toBe(false);
    expect(missing('one', 8)).toBe(true);
  });
});
