import { median, type Scenario } from '../scenario.ts';
import { startWebhookWorld, type WebhookWorld } from '../webhooks/world.ts';

const seconds = 5;
const rounds = 3;
/** Share of the highest rate, at which a delivery's time is its way and not its wait in the queue. */
const easy = 0.3;

interface Round {
  floor: number;
  rate: number;
  withHanging: number;
}

const percentile = (values: readonly number[], part: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * part)] ?? Number.NaN;

/** The cost of a row, a job and a signed request for each delivery, and the cost of hanging receivers for the others. */
export const webhooks: Scenario = {
  name: 'webhooks',
  about: 'deliveries of events to fast receivers against a bare loop of signed posts, and beside receivers that hang',
  async run(say) {
    const world = await startWebhookWorld();
    try {
      await world.floor(1);
      await world.drive({ seconds: 3, hanging: false });
      const measured: Round[] = [];
      for (let round = 1; round <= rounds; round += 1) measured.push(await measure(world, say, round));
      const easyRate = Math.max(10, Math.round(median(measured.map(({ rate }) => rate)) * easy));
      const { latenciesMs } = await world.drive({ seconds, hanging: true, rate: easyRate });
      const ofFloor = measured.map(({ rate, floor }) => rate / floor);
      const besideHanging = measured.map(({ rate, withHanging }) => withHanging / rate);
      return {
        promises: [
          { name: 'deliveries a second, of the bare loop', measured: median(ofFloor), atLeast: 0.3 },
          { name: 'deliveries a second beside hanging receivers, of those without', measured: median(besideHanging), atLeast: 0.9 },
          { name: 'seconds from event to first attempt, p95', measured: percentile(latenciesMs, 0.95) / 1_000, atMost: 0.15 },
        ],
        figures: {
          rounds,
          ofFloor,
          besideHanging,
          floor: median(measured.map(({ floor }) => floor)),
          deliveries: median(measured.map(({ rate }) => rate)),
          easyRate,
          latencyP50Ms: percentile(latenciesMs, 0.5),
          latencyP99Ms: percentile(latenciesMs, 0.99),
        },
      };
    } finally {
      await world.stop();
    }
  },
};

async function measure(world: WebhookWorld, say: (line: string) => void, round: number): Promise<Round> {
  const floor = await world.floor(seconds);
  const { rate } = await world.drive({ seconds, hanging: false });
  const { rate: withHanging } = await world.drive({ seconds, hanging: true });
  say(
    `round ${round}: ${Math.round(rate)} deliveries/s, ${Math.round(withHanging)} beside hanging receivers, ${Math.round(floor)} bare posts/s`,
  );
  return { floor, rate, withHanging };
}
