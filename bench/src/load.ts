import autocannon from 'autocannon';

export interface Load {
  url: string;
  headers?: Record<string, string>;
  /** Sent by POST; without one it is a GET. */
  body?: object;
  connections: number;
  seconds: number;
}

export interface Measured {
  perSecond: number;
  p50: number;
  p99: number;
}

/** Sends requests as fast as they are answered. An answer that is no success makes the measurement worthless. */
export async function load({ url, headers = {}, body, connections, seconds }: Load): Promise<Measured> {
  const sent = body
    ? { method: 'POST' as const, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) }
    : { headers };
  const result = await autocannon({ url, ...sent, connections, duration: seconds, timeout: 30 });
  const failed = result.errors + result.timeouts + result.non2xx;
  if (failed > 0) throw new Error(`${failed} of ${result.requests.total} requests to ${url} failed`);
  return { perSecond: result.requests.total / result.duration, p50: result.latency.p50, p99: result.latency.p99 };
}
