import { type Dispatcher, Pool } from 'undici';

const probeEveryMs = 500;
const probeLimitMs = 1_000;

interface Gateway {
  readonly pool: Pool;
  isAnswering: boolean;
  isProbed: boolean;
}

/**
 * Sends requests to the gateways in turn. One that is frozen still accepts connections, and each request to it would wait for its time limit:
 * a gateway that does not answer a probe gets no requests until it does. Where none answers, all are tried.
 */
export class Gateways {
  readonly #gateways: readonly Gateway[];
  readonly #timer: NodeJS.Timeout | undefined;
  #next = 0;

  constructor(urls: readonly string[], options: Pool.Options) {
    this.#gateways = urls.map((url) => ({ pool: new Pool(new URL(url).origin, options), isAnswering: true, isProbed: false }));
    // Behind one address are all replicas, and a load balancer that chooses.
    if (urls.length > 1) this.#timer = setInterval(() => this.#gateways.forEach((each) => void probe(each)), probeEveryMs).unref();
  }

  request(options: Omit<Dispatcher.RequestOptions, 'origin'>): Promise<Dispatcher.ResponseData> {
    const answering = this.#gateways.filter(({ isAnswering }) => isAnswering);
    const candidates = answering.length > 0 ? answering : this.#gateways;
    const { pool } = candidates[this.#next++ % candidates.length] as Gateway;
    return pool.request(options);
  }

  async destroy(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#gateways.map(({ pool }) => pool.destroy()));
  }
}

async function probe(gateway: Gateway): Promise<void> {
  if (gateway.isProbed) return;
  gateway.isProbed = true;
  try {
    const { body } = await gateway.pool.request({ path: '/readyz', method: 'GET', signal: AbortSignal.timeout(probeLimitMs) });
    await body.dump();
    gateway.isAnswering = true;
  } catch {
    gateway.isAnswering = false;
  } finally {
    gateway.isProbed = false;
  }
}
