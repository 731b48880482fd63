import { type Asked, askSteadily, quantile } from '../answers/asks.ts';
import { startAnswersFloor } from '../answers/floor.ts';
import { startAnswersSystem } from '../answers/system.ts';
import { median, type Promised, type Scenario } from '../scenario.ts';

interface Load {
  readonly name: string;
  readonly about: string;
  readonly inFlight: number;
  readonly modelMs: number;
  readonly seconds: number;
  readonly rampMs: number;
  /** The most that each time may be, as a multiple of the floor's whole answer. */
  readonly limits: { readonly p50: number; readonly p99: number; readonly firstDelta: number };
}

const rounds = 5;

interface Round {
  readonly whole: readonly Asked[];
  readonly streamed: readonly Asked[];
  readonly floor: readonly Asked[];
}

const totals = (answers: readonly Asked[]) => answers.map(({ totalMs }) => totalMs);
const firstDeltas = (answers: readonly Asked[]) => answers.map(({ firstDeltaMs }) => firstDeltaMs);

/** The times of whole answers, and of the first delta of streamed ones, beside those of the floor's whole answers. */
const compareTimes = ({ name, about, inFlight, modelMs, seconds, rampMs, limits }: Load): Scenario => ({
  name,
  about: `${about}: whole answers, and the first delta of streamed ones, against whole answers of Express + insert + BullMQ job + model call + insert + reply`,
  async run(say) {
    const bench = await startAnswersSystem(modelMs, { ORGANIZATION_ANSWERS_IN_FLIGHT: '1000' });
    const floor = await startAnswersFloor({
      databaseUrl: bench.system.endpoints['postgres'] ?? '',
      redisUrl: bench.system.endpoints['redis'] ?? '',
      modelUrl: bench.modelUrl,
    });
    try {
      const { key, messages } = await bench.organization('Latency');
      const question = { url: `${bench.system.url}${messages}`, key };
      const ask = (stream: boolean) => askSteadily({ question: { ...question, stream }, inFlight, seconds, rampMs });
      const askFloor = () => askSteadily({ question: { url: floor.url, key: '' }, inFlight, seconds, rampMs });
      for (const warmUp of [() => ask(false), () => ask(true), askFloor]) await warmUp();
      const measured: Round[] = [];
      for (let round = 1; round <= rounds; round += 1) {
        const times = { whole: await ask(false), floor: await askFloor(), streamed: await ask(true) };
        measured.push(times);
        say(`round ${round}: p50 in ms: ${describe(times)}`);
      }
      return { promises: ratiosOf(measured, limits), figures: { inFlight, modelMs, rounds, ...timesOf(measured) } };
    } finally {
      await floor.stop();
      await bench.stop();
    }
  },
});

const describe = ({ whole, floor, streamed }: Round): string =>
  `whole ${quantile(totals(whole), 0.5).toFixed(1)}, first delta ${quantile(firstDeltas(streamed), 0.5).toFixed(1)}, floor ${quantile(totals(floor), 0.5).toFixed(1)}`;

function ratiosOf(measured: readonly Round[], limits: Load['limits']): Promised[] {
  const ratio = (of: number, times: (round: Round) => number[]) =>
    median(measured.map((round) => quantile(times(round), of) / quantile(totals(round.floor), of)));
  const whole = (round: Round) => totals(round.whole);
  return [
    { name: 'whole answer, p50, times the floor', measured: ratio(0.5, whole), atMost: limits.p50 },
    { name: 'whole answer, p99, times the floor', measured: ratio(0.99, whole), atMost: limits.p99 },
    {
      name: "first delta, p50, times the floor's whole answer",
      measured: ratio(0.5, (round) => firstDeltas(round.streamed)),
      atMost: limits.firstDelta,
    },
  ];
}

function timesOf(measured: readonly Round[]): Record<string, number> {
  const medianOf = (of: number, times: (round: Round) => number[]) => median(measured.map((round) => quantile(times(round), of)));
  return {
    'whole p50, ms': medianOf(0.5, ({ whole }) => totals(whole)),
    'whole p99, ms': medianOf(0.99, ({ whole }) => totals(whole)),
    'first delta p50, ms': medianOf(0.5, ({ streamed }) => firstDeltas(streamed)),
    'first delta p99, ms': medianOf(0.99, ({ streamed }) => firstDeltas(streamed)),
    'floor p50, ms': medianOf(0.5, ({ floor }) => totals(floor)),
    'floor p99, ms': medianOf(0.99, ({ floor }) => totals(floor)),
  };
}

export const answersLatency = compareTimes({
  name: 'answers-latency',
  about: 'a model that takes 300 ms, with 100 answers in flight',
  inFlight: 100,
  modelMs: 300,
  seconds: 5,
  rampMs: 1_500,
  limits: { p50: 1.15, p99: 1.25, firstDelta: 1.3 },
});

export const answersAlone = compareTimes({
  name: 'answers-alone',
  about: 'a model that answers at once, one message at a time',
  inFlight: 1,
  modelMs: 0,
  seconds: 4,
  rampMs: 500,
  limits: { p50: 2.5, p99: 3, firstDelta: 1.3 },
});
