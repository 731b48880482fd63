import { createHmac, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '@agent-service/contracts';
import { setting } from '@agent-service/runtime/config';

/** Settings of every service whose lists have pages. */
export const cursorSettings = {
  CURSOR_SECRET: setting.secrets().describe('The key that authenticates the cursors of pages.'),
};

const macBytes = 16;

export interface Page {
  /** The sort key of the last row of the page before. */
  after: readonly (string | number)[];
  /** The total that was counted on the first page. */
  total?: number | undefined;
}

export interface Cursors {
  encode(binding: readonly unknown[], page: Page): string;
  /** Returns undefined for the first page. Throws `invalid_cursor` for a cursor that was changed or belongs to another list, tenant or filter. */
  decode(binding: readonly unknown[], cursor: string): Page | undefined;
}

/**
 * Creates keyset cursors. The binding (list, tenant, filters) is part of the MAC and not of the cursor, so that a cursor is valid for
 * its own list only. The first secret signs, all are accepted.
 */
export function createCursors(secrets: readonly string[]): Cursors {
  const [first = ''] = secrets;
  const mac = (secret: string, binding: readonly unknown[], payload: string) =>
    createHmac('sha256', secret).update(JSON.stringify(binding)).update('\0').update(payload).digest().subarray(0, macBytes);
  return {
    encode(binding, page) {
      const payload = JSON.stringify([page.after, page.total ?? null]);
      return Buffer.concat([mac(first, binding, payload), Buffer.from(payload)]).toString('base64url');
    },
    decode(binding, cursor) {
      if (cursor === '') return undefined;
      const bytes = Buffer.from(cursor, 'base64url');
      const payload = bytes.subarray(macBytes).toString();
      // Encoding the bytes again refuses other spellings of the same bytes.
      const genuine =
        bytes.length > macBytes &&
        bytes.toString('base64url') === cursor &&
        secrets.some((secret) => timingSafeEqual(mac(secret, binding, payload), bytes.subarray(0, macBytes)));
      if (!genuine) throw new ServiceError('invalid_cursor', { param: 'cursor' });
      const [after, total] = JSON.parse(payload) as [Page['after'], number | null];
      return total === null ? { after } : { after, total };
    },
  };
}

/** The rows of a page that a caller asked for, or of a usual page. Edges check the limit as well; this bounds the work of a call. */
export const limitOf = (page: { limit: number } | null, usual = 20, most = 100): number => Math.min(page?.limit || usual, most);

/** The last row of a page. Lists select one row more than the page has, which shows that there is another page. */
export const lastOf = <Row>(rows: readonly Row[], limit: number): Row | undefined => (rows.length > limit ? rows[limit - 1] : undefined);
