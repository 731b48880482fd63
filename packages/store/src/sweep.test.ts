import { expect, test } from '@jest/globals';
import { startSweep } from './sweep.ts';

test('an outage is logged ever less often, and its end once', async () => {
  const events: object[] = [];
  const log = (event: object) => void events.push(event);
  const stopping = new AbortController();
  let stop = async (): Promise<unknown> => undefined;
  const process = {
    logger: { warn: log, info: log },
    stopping: stopping.signal,
    onStop: (_part: string, end: typeof stop) => void (stop = end),
  };
  const err = new Error('is away');
  let steps = 0;
  startSweep(process as never, 'old things', 0, async () => {
    steps += 1;
    if (steps > 1 && steps <= 21) throw err;
    if (steps === 23) stopping.abort();
    return 0;
  });
  await stop();
  const failed = (failures: number) => ({ event: 'sweep_failed', sweep: 'old things', failures, err });
  expect(events).toEqual([...[1, 2, 4, 8, 16].map(failed), { event: 'sweep_recovered', sweep: 'old things', failures: 20 }]);
});
