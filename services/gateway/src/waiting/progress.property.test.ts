import type { Reply } from '@agent-service/queues';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { answerMessage } from '../../test/support/agents-peer.ts';
import { Progress } from './progress.ts';

const id = 'msg_1';
const pieces = ['You ', 'sold ', '120 ', 'orders.'];
const textOf = (attempt: number) => pieces.map((piece) => `${attempt}:${piece}`);

/** What each attempt publishes, in its order. */
const published = (attempt: number): Reply[] => [
  { kind: 'started', id, attempt },
  { kind: 'started', id, attempt },
  ...textOf(attempt).map((text): Reply => ({ kind: 'delta', id, attempt, text })),
];

const ended: Reply = { kind: 'ended', id, message: answerMessage(id) };

/** Attempts that overlap as they like, and news of which some is lost, with a word that something may have been. */
const histories = fc
  .tuple(fc.integer({ min: 1, max: 4 }), fc.infiniteStream(fc.nat(3)), fc.infiniteStream(fc.nat(9)), fc.nat(20))
  .map(([attempts, choices, losses, endAt]) => {
    const queues = Array.from({ length: attempts }, (_, index) => published(index + 1));
    const news: (Reply | 'gap')[] = [];
    while (queues.some((queue) => queue.length > 0)) {
      const queue = queues[choices.next().value as number];
      const next = queue?.shift();
      if (next) news.push(losses.next().value === 0 ? 'gap' : next);
    }
    news.splice(endAt, 0, ended, ended);
    return news;
  });

/** Who hears the news, and does not believe all of it. */
class Reader {
  attempt = 0;
  text = '';
  ended = false;
  voided = 0;

  hear(told: Reply): void {
    expect(this.ended).toBe(false);
    if (told.kind === 'ended') this.ended = true;
    if (told.kind === 'started') this.#begin(told.attempt);
    if (told.kind === 'delta') {
      expect(told.attempt).toBe(this.attempt);
      this.text += told.text;
    }
    expect(textOf(this.attempt).join('').startsWith(this.text)).toBe(true);
  }

  #begin(attempt: number): void {
    expect(attempt).toBeGreaterThan(this.attempt);
    if (this.text !== '') this.voided += 1;
    this.attempt = attempt;
    this.text = '';
  }
}

/** What the reader has heard of this, and how many deltas were held back. */
function readAll(news: readonly (Reply | 'gap')[]): { reader: Reader; held: number } {
  const progress = new Progress();
  const reader = new Reader();
  let held = 0;
  for (const one of news) {
    if (one === 'gap') {
      progress.interrupt();
      continue;
    }
    const told = progress.take(one);
    if (told) reader.hear(told);
    else if (one.kind === 'delta') held += 1;
  }
  return { reader, held };
}

test('a reader’s text is always a beginning of the newest attempt’s, and one end comes last', () => {
  const tally = { voided: 0, held: 0, whole: 0 };
  fc.assert(
    fc.property(histories, (news) => {
      const { reader, held } = readAll(news);
      expect(reader.ended).toBe(true);
      tally.voided += reader.voided;
      tally.held += held;
      if (reader.text !== '' && reader.text === textOf(reader.attempt).join('')) tally.whole += 1;
    }),
    { numRuns: 500 },
  );
  // Histories in which nothing happens would show nothing.
  for (const count of Object.values(tally)) expect(count).toBeGreaterThan(5);
});
