import type { Cipher } from './cipher.ts';
import { replaceSealed, rowsUnder, type SealedColumn, type SealedRow } from './cipher-places.ts';
import type { Sql } from './sql.ts';

const rowsAtOnce = 100;

export interface Walk {
  readonly sql: Sql;
  readonly cipher: Cipher;
  readonly place: SealedColumn;
  readonly version: number;
}

export interface Walked {
  readonly resealed: number;
  /** Values that did not open, and why the last of them did not. */
  readonly unopened: number;
  readonly cause?: unknown;
}

/** Seals the column's values under this version anew, in bounded steps, each value by a statement of its own. */
export async function resealVersion({ sql, cipher, place, version }: Walk, stopping: AbortSignal): Promise<Walked> {
  let walked: Walked = { resealed: 0, unopened: 0 };
  let after: readonly string[] = [];
  while (!stopping.aborted) {
    const rows = await rowsUnder(sql, place, { version, after, limit: rowsAtOnce });
    for (const row of rows) walked = await resealRow({ sql, cipher, place, version }, row, walked);
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsAtOnce) break;
    after = last.key;
  }
  return walked;
}

async function resealRow({ sql, cipher, place }: Walk, row: SealedRow, walked: Walked): Promise<Walked> {
  const { clear, cause } = open(cipher, row);
  if (clear === undefined) return { ...walked, unopened: walked.unopened + 1, cause };
  const isOurs = await replaceSealed(sql, place, row, cipher.encrypt(clear, row.context));
  return { ...walked, resealed: walked.resealed + (isOurs ? 1 : 0) };
}

/** Whether the key is the one that was sealed with, by a sample: a wrong key opens none. */
export async function sampleVersion({ sql, cipher, place, version }: Walk): Promise<Walked> {
  const [row] = await rowsUnder(sql, place, { version, after: [], limit: 1 });
  const { clear, cause } = row ? open(cipher, row) : { clear: '', cause: undefined };
  return clear === undefined ? { resealed: 0, unopened: 1, cause } : { resealed: 0, unopened: 0 };
}

function open(cipher: Cipher, { sealed, context }: SealedRow): { clear?: string; cause?: unknown } {
  try {
    return { clear: cipher.decrypt(sealed, context) };
  } catch (cause) {
    return { cause };
  }
}
