import type { Exchange } from './exchange.ts';

/** Aborted when the client goes away before it has its answer, or has gone already. */
export function abortedWithClient({ response, abandoned }: Pick<Exchange, 'response' | 'abandoned'>): AbortSignal {
  const abort = new AbortController();
  if (abandoned) abort.abort();
  response.once('close', () => {
    if (!response.writableEnded) abort.abort();
  });
  return abort.signal;
}
