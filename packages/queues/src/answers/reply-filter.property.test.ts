import type { AnswerMessage } from '@agent-service/contracts';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Reply } from './replies.ts';
import { ReplyFilter } from './reply-filter.ts';

const id = 'msg_1';
const pieces = ['You ', 'sold ', '120 ', 'orders.'];
type Run = { readonly attempt: number; readonly restarts: number };
const piecesOf = ({ attempt, restarts }: Run) => pieces.map((piece) => `${attempt}.${restarts}:${piece}`);
const textOf = (run: Run) => piecesOf(run).join('');

const startedOf = ({ attempt, restarts }: Run): Reply => ({ kind: 'started', id, attempt, ...(restarts > 0 && { restarts }) });
const deltasOf = ({ attempt, restarts }: Run): Reply[] =>
  piecesOf({ attempt, restarts }).map((text) => ({ kind: 'delta', id, attempt, text, ...(restarts > 0 && { restarts }) }));

/** The replies of one attempt in order; it restarts its text after each of these numbers of deltas. */
const published = (attempt: number, cuts: readonly number[]): Reply[] => [
  startedOf({ attempt, restarts: 0 }),
  ...[...cuts, pieces.length].flatMap((length, restarts) => [
    startedOf({ attempt, restarts }),
    ...deltasOf({ attempt, restarts }).slice(0, length),
  ]),
];

const endOf = (content: string): Reply => ({ kind: 'ended', id, message: { ...message, content } });
const message: AnswerMessage = {
  id,
  conversationId: 'conv_1',
  agentId: 'agt_1',
  role: 'assistant',
  content: '',
  contentType: 'markdown',
  creditsConsumed: 2,
  modelUsed: 'Fast',
  createdAt: '2026-01-31T10:00:00.000Z',
  status: 'completed',
  failure: null,
  queries: [],
  record: null,
};

/** Attempts that overlap in any way, and replies of which some are lost, each loss followed by an interruption. */
const histories = fc
  .tuple(
    fc.array(fc.array(fc.integer({ min: 1, max: pieces.length }), { maxLength: 2 }), { minLength: 1, maxLength: 4 }),
    fc.infiniteStream(fc.nat(3)),
    fc.infiniteStream(fc.nat(9)),
    fc.nat(30),
  )
  .map(([attempts, choices, losses, endAt]) => {
    const queues = attempts.map((cuts, index) => published(index + 1, cuts));
    const news: (Reply | 'gap')[] = [];
    while (queues.some((queue) => queue.length > 0)) {
      const queue = queues[choices.next().value as number];
      const next = queue?.shift();
      if (next) news.push(losses.next().value === 0 ? 'gap' : next);
    }
    const ended = endOf(textOf({ attempt: attempts.length, restarts: attempts.at(-1)?.length ?? 0 }));
    news.splice(endAt, 0, ended, ended);
    return news;
  });

/** A reader that checks every reply it gets. */
class Reader {
  attempt = 0;
  text = '';
  ended = false;
  voided = 0;

  receive(reply: Reply): void {
    expect(this.ended).toBe(false);
    if (reply.kind === 'ended') this.ended = true;
    if (reply.kind === 'started') this.#begin(reply.attempt);
    if (reply.kind === 'delta') {
      expect(reply.attempt).toBe(this.attempt);
      this.text += reply.text;
    }
  }

  #begin(attempt: number): void {
    expect(attempt).toBeGreaterThanOrEqual(this.attempt);
    if (this.text !== '') this.voided += 1;
    this.attempt = attempt;
    this.text = '';
  }
}

const newness = (one: Run, other: Run) => one.attempt - other.attempt || one.restarts - other.restarts;

/** Returns what the reader got, and how many deltas were not passed on. */
function readAll(news: readonly (Reply | 'gap')[]) {
  const filter = new ReplyFilter();
  const reader = new Reader();
  let newest: Run = { attempt: 0, restarts: 0 };
  let skippedDeltas = 0;
  for (const one of news) {
    if (one === 'gap') {
      filter.interrupt();
      continue;
    }
    const reply = filter.take(one);
    if (reply) reader.receive(reply);
    else if (one.kind === 'delta') skippedDeltas += 1;
    if (one.kind === 'ended') continue;
    const run = { attempt: one.attempt, restarts: one.restarts ?? 0 };
    // Each text begins once, however often `started` arrives.
    if (reply?.kind === 'started') expect(newness(run, newest)).toBeGreaterThan(0);
    if (!reader.ended && newness(run, newest) > 0) newest = run;
    // A prefix of the newest run that the reader knows, and not of any run.
    expect(textOf(newest).startsWith(reader.text)).toBe(true);
  }
  return { reader, skippedDeltas, newest, filter };
}

test('a reader’s text is always a prefix of the newest attempt’s, and one end comes last', () => {
  const tally = { voided: 0, skippedDeltas: 0, whole: 0 };
  fc.assert(
    fc.property(histories, (news) => {
      const { reader, skippedDeltas, newest, filter } = readAll(news);
      const end = news.find((one) => one !== 'gap' && one.kind === 'ended') as Extract<Reply, { kind: 'ended' }>;
      expect(reader.ended).toBe(true);
      tally.voided += reader.voided;
      tally.skippedDeltas += skippedDeltas;
      // A text whose end was lost is recognised as incomplete.
      if (reader.text !== '' && !end.message.content.startsWith(reader.text)) expect(filter.isPrefixOf(end.message.content)).toBe(false);
      if (reader.text !== '' && reader.text === textOf(newest)) tally.whole += 1;
    }),
    { numRuns: 500 },
  );
  // Empty histories would prove nothing.
  for (const count of Object.values(tally)) expect(count).toBeGreaterThan(5);
});

test('a beginning without a count voids what came before it, and only its repetition at once is nothing new', () => {
  const started = startedOf({ attempt: 1, restarts: 0 });
  const delta = (text: string): Reply => ({ kind: 'delta', id, attempt: 1, text });
  const { reader } = readPlainly([
    started,
    started,
    delta('Half an'),
    started,
    started,
    delta('A whole '),
    'gap',
    delta('lost'),
    started,
    delta('one'),
  ]);
  expect(reader).toEqual(['started', 'Half an', 'started', 'A whole ', 'started', 'one']);
});

function readPlainly(news: readonly (Reply | 'gap')[]) {
  const filter = new ReplyFilter();
  const reader: string[] = [];
  for (const one of news) {
    const reply = one === 'gap' ? filter.interrupt() : filter.take(one);
    if (reply && reply.kind !== 'ended') reader.push(reply.kind === 'delta' ? reply.text : reply.kind);
  }
  return { reader };
}
