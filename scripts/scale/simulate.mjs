// A simulation of the waiting line and its workers, and of organizations on shards, for docs/scale.md. Its results depend on nothing but their parameters and the seed.

/** mulberry32: numbers in [0, 1) from a seed. */
export function createRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const exponential = (random, mean) => -mean * Math.log(1 - random());
/** A lognormal duration with this mean: most are short, some are long. */
function lognormal(random, mean, sigma) {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return mean * Math.exp(sigma * normal - (sigma * sigma) / 2);
}

/** The share of the load of each of `count` organizations: the k-th largest has 1/k^skew of the largest. */
function sharesOf(count, skew) {
  const weights = Array.from({ length: count }, (_, index) => 1 / (index + 1) ** skew);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/** Picks an index by its share, in logarithmic time. */
function createPicker(random, shares) {
  let sum = 0;
  const sums = shares.map((share) => (sum += share));
  return () => {
    const target = random() * sum;
    let [low, high] = [0, sums.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle] > target) high = middle;
      else low = middle + 1;
    }
    return low;
  };
}

/** A binary heap of numbers with values: the least number first. */
function createHeap() {
  const entries = [];
  const swap = (a, b) => ([entries[a], entries[b]] = [entries[b], entries[a]]);
  return {
    get least() {
      return entries[0]?.[0] ?? Number.POSITIVE_INFINITY;
    },
    add(at, value) {
      let index = entries.push([at, value]) - 1;
      for (let parent = (index - 1) >> 1; index > 0 && entries[parent][0] > entries[index][0]; parent = (index - 1) >> 1) {
        swap(index, parent);
        index = parent;
      }
    },
    take() {
      const first = entries[0];
      const last = entries.pop();
      if (entries.length > 0) entries[0] = last;
      for (let index = 0; ; ) {
        const children = [2 * index + 1, 2 * index + 2].filter((child) => child < entries.length);
        const child = children.sort((a, b) => entries[a][0] - entries[b][0])[0];
        if (child === undefined || entries[child][0] >= entries[index][0]) return first;
        swap(index, child);
        index = child;
      }
    },
  };
}

const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

/**
 * Messages arrive at random from organizations of different sizes. At most `inFlight` answers of an organization are dispatched; the others wait in its own line. Dispatched ones
 * wait for one of `workers` x `concurrency` free permits in the order of their dispatch. Times are seconds.
 */
export function simulateAnswers({
  seed,
  perSecond,
  seconds = 60,
  workers,
  concurrency = 200,
  inFlight = 50,
  organizations = 1_000,
  skew = 0.6,
  mean = 4,
  sigma = 0.8,
}) {
  const random = createRandom(seed);
  const pick = createPicker(random, sharesOf(organizations, skew));
  const permits = workers * concurrency;
  const dispatchedOf = new Int32Array(organizations);
  const waitingOf = Array.from({ length: organizations }, () => []);
  const queue = [];
  let queueHead = 0;
  const ends = createHeap();
  const waits = [];
  let [running, busyTime, heldBack] = [0, 0, 0];

  const start = (now) => {
    while (running < permits && queueHead < queue.length) {
      const answer = queue[queueHead++];
      const duration = lognormal(random, mean, sigma);
      waits.push(now - answer.arrivedAt);
      running += 1;
      busyTime += duration;
      ends.add(now + duration, answer.organization);
    }
  };
  const dispatch = (answer) => {
    dispatchedOf[answer.organization] += 1;
    queue.push(answer);
  };
  const end = () => {
    const [now, organization] = ends.take();
    running -= 1;
    dispatchedOf[organization] -= 1;
    const next = waitingOf[organization].shift();
    if (next) dispatch(next);
    start(now);
  };

  let arrivals = 0;
  for (let now = exponential(random, 1 / perSecond); now < seconds; now += exponential(random, 1 / perSecond)) {
    while (ends.least <= now) end();
    const answer = { organization: pick(), arrivedAt: now };
    arrivals += 1;
    if (dispatchedOf[answer.organization] < inFlight) dispatch(answer);
    else heldBack += waitingOf[answer.organization].push(answer) > 0 ? 1 : 0;
    start(now);
  }
  while (ends.least < Number.POSITIVE_INFINITY) end();
  waits.sort((a, b) => a - b);
  return {
    arrivals,
    answered: waits.length,
    /** The share of the permits in use, by the work that came in. */
    utilization: busyTime / (permits * seconds),
    heldBack: heldBack / arrivals,
    waitP50: percentile(waits, 0.5),
    waitP99: percentile(waits, 0.99),
  };
}

/** Puts organizations on shards by a hash, and says how much the fullest has of what an even share would be. */
export function simulateShards({ seed, shards, organizations = 10_000, skew = 0.6 }) {
  const random = createRandom(seed);
  const load = new Float64Array(shards);
  for (const share of sharesOf(organizations, skew)) load[Math.floor(random() * shards)] += share;
  return { fullest: Math.max(...load) * shards };
}
