import type { Exchange } from '../http/exchange.ts';
import type { Reply } from '../http/reply.ts';

/** An address that is not part of the API: for browsers, tools and probes. */
export interface Page {
  readonly path: string;
  readonly answer: (exchange: Exchange) => Promise<Reply> | Reply;
}
