import type { Intent } from './intent.ts';
import type { Word } from './words.ts';

/** Days that are set down before they come. */
const planned =
  /^(due|expect|start|begin|end|schedul|plan|deadline|expir|valid|until|renew|deliver(y|ies)|arriv|depart|appointment|event|book|reserv|target|matur)/;

/** Days on which something has happened. */
const happened =
  /^(order|issued|paid|created|updated|shipped|received|requested|approved|last|registered|signed|sold|joined|recorded|logged|posted|delivered)/;

/** A question about what is still to happen, which no row can tell; what is due, or is to begin, stands in the data. */
export function foretells(intent: Intent, words: readonly Word[]): boolean {
  const span = intent.span ?? intent.without?.span;
  const column = (span ?? intent.day)?.column ?? '';
  if (words.some((word, at) => isWill(word, words[at + 1]))) return !planned.test(column);
  return span?.period.ahead === true && happened.test(column);
}

/** `will you show me` is a request. */
const isWill = ({ lower }: Word, next: Word | undefined) =>
  (lower === 'will' && next?.lower !== 'you') || (lower === 'shall' && !/^(we|i)$/.test(next?.lower ?? ''));
