/** The two steps of one answer's payment, under an id of its own. */
export type Pair = (id: string) => Promise<void>;

export interface PairLoad {
  pair: Pair;
  /** Answers under way at once. */
  atOnce: number;
  seconds: number;
}

let runs = 0;

/** Pays for answers as fast as payments return, and returns the pairs per second. */
export async function pairsPerSecond({ pair, atOnce, seconds }: PairLoad): Promise<number> {
  runs += 1;
  const begin = performance.now();
  const end = begin + seconds * 1000;
  let started = 0;
  let paid = 0;
  const one = async () => {
    while (performance.now() < end) {
      started += 1;
      await pair(`msg_${runs}_${String(started).padStart(20, '0')}`);
      paid += 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  return paid / ((performance.now() - begin) / 1000);
}
