import { setTimeout as pause } from 'node:timers/promises';
import { withDatabase } from '@agent-service/testkit';
import type { Client } from 'pg';
import type { Sent } from './load.ts';
import { type FaultyWorld, markerOf } from './world.ts';

/** Counts of the recorded messages. */
export interface Findings {
  sent: number;
  completed: number;
  /** Messages whose sender received no outcome or a wrong one. */
  unknown: string[];
  /** Messages that are stored more than once, or whose conversation has more than one answer. */
  answeredTwice: string[];
  /** Completed answers without exactly one usage record and one settled hold. */
  wronglyCharged: string[];
  ledgerFaults: string[];
  /** Unfinished work after the wait for its end. */
  leftOver: Record<string, number>;
  /** Messages that the model received more than once. */
  computedAgain: number;
}

const limitMs = 60_000;

/** Waits until no work is left, at most a minute after the fault, which is the promised limit. */
export async function untilQuiet(world: FaultyWorld): Promise<Record<string, number>> {
  const end = performance.now() + limitMs;
  for (;;) {
    const left = await withDatabase(world.databaseUrl, leftOver);
    const quiet = Object.values(left).every((count) => count === 0);
    if (quiet || performance.now() > end) return left;
    await pause(200);
  }
}

async function leftOver(client: Client): Promise<Record<string, number>> {
  const { rows } = await client.query<Record<string, string>>(
    `select (select count(*) from agents.answers) as answers,
            (select coalesce(sum(waiting + in_flight), 0) from agents.answer_lines) as in_lines,
            (select count(*) from credits.holds where state = 'open') as open_holds`,
  );
  return Object.fromEntries(Object.entries(rows[0] ?? {}).map(([name, count]) => [name, Number(count)]));
}

interface Row {
  marker: string;
  questions: number;
  answers: number;
  completed: number;
  records: number;
}

/** Everything that must hold after any fault. */
export async function audit(world: FaultyWorld, sent: readonly Sent[]): Promise<Findings> {
  const left = await untilQuiet(world);
  const rows = await withDatabase(world.databaseUrl, recordsOf);
  const byMarker = new Map(rows.map((row) => [row.marker, row]));
  const known = sent.flatMap(({ marker }) => byMarker.get(marker) ?? []);
  const { faults } = await world.credits.verifyLedger({});
  return {
    sent: sent.length,
    completed: sent.filter(({ outcome }) => outcome === '200').length,
    unknown: sent
      .filter(({ outcome, marker }) => outcome !== '200' || !byMarker.has(marker))
      .map(({ marker, outcome }) => `${marker}: ${outcome}`),
    answeredTwice: known.filter(({ questions, answers, completed }) => questions !== 1 || answers !== 1 || completed !== 1).map(say),
    wronglyCharged: known.filter(({ completed, records }) => completed !== records).map(say),
    ledgerFaults: faults.map((fault) => JSON.stringify(fault)),
    leftOver: left,
    computedAgain: sent.filter(({ marker }) => (world.modelRequests.get(marker) ?? 0) > 1).length,
  };
}

const say = (row: Row) => JSON.stringify(row);

/** The records of each message. Each message began its own conversation. */
async function recordsOf(client: Client): Promise<Row[]> {
  const { rows } = await client.query<{ text: string; questions: string; answers: string; completed: string; records: string }>(
    `select q.content as text, count(distinct q.id) as questions, count(distinct a.id) as answers,
            count(distinct a.id) filter (where a.status = 'completed') as completed, count(distinct u.id) as records
     from agents.messages q
     left join agents.messages a on a.conversation_id = q.conversation_id and a.role = 'assistant'
     left join credits.usage_records u on u.conversation_id = q.conversation_id
     where q.role = 'user' group by q.content`,
  );
  return rows.map(({ text, ...counts }) => ({
    marker: markerOf(text),
    questions: Number(counts.questions),
    answers: Number(counts.answers),
    completed: Number(counts.completed),
    records: Number(counts.records),
  }));
}
