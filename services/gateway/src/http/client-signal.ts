import type { Exchange } from './exchange.ts';

/** Aborted when the client goes away before it has its answer. */
export function abortedWithClient({ response }: Exchange): AbortSignal {
  const abort = new AbortController();
  response.once('close', () => {
    if (!response.writableEnded) abort.abort();
  });
  return abort.signal;
}
