import type { Client } from '@agent-service/contracts';
import type { Logger } from '@agent-service/runtime';
import type { Store } from '@agent-service/store';
import { disabledMail } from '../domain/disabled-mail.ts';
import { type NoticeRow, removeNotice, takeNotice } from '../store/notices.ts';
import { toMs } from '../store/time.ts';
import { isPermanent, type Mailer } from './mailer.ts';

const firstPauseMs = 60_000;
const longestPauseMs = 3_600_000;
const givenUpAfterMs = 3 * 24 * 3_600_000;

export interface NotifierOptions {
  store: Store;
  identity: Pick<Client<'identity'>, 'listAdministrators'>;
  mailer: Mailer | undefined;
  logger: Logger;
  now: () => number;
}

/** Tells administrators what is noted for them: one mail a notice, tried again until it is sent, refused or too old. */
export function createNotifier({ store, identity, mailer, logger, now }: NotifierOptions): () => Promise<number> {
  const pauseMs = (tries: number) => Math.min(longestPauseMs, firstPauseMs * 2 ** tries);

  async function tell(row: NoticeRow): Promise<void> {
    const about = { notice_id: row.id, organization_id: row.organizationId, endpoint_id: row.notice.endpointId };
    if (!mailer) return logger.warn({ event: 'notice_without_mail_server', ...about });
    const { users } = await identity.listAdministrators({ organizationId: row.organizationId });
    const to = users.map(({ email }) => email).filter((email) => email !== '');
    if (to.length === 0) return logger.warn({ event: 'notice_without_address', ...about });
    await mailer.send({ id: row.id, to, ...disabledMail({ ...row.notice, environment: row.environment }) });
    logger.info({ event: 'notice_sent', recipients: to.length, ...about });
  }

  /** Whether the notice is done with. */
  async function told(row: NoticeRow): Promise<boolean> {
    try {
      await tell(row);
      return true;
    } catch (cause) {
      const over = isPermanent(cause) || now() - toMs(row.createdAt) > givenUpAfterMs;
      logger[over ? 'error' : 'warn']({
        event: over ? 'notice_given_up' : 'notice_failed',
        notice_id: row.id,
        tries: row.tries + 1,
        err: cause,
      });
      return over;
    }
  }

  return async () => {
    const row = await store.transaction(({ sql }) => takeNotice(sql, now(), (tries) => now() + pauseMs(tries)));
    if (!row) return 0;
    if (await told(row)) await removeNotice(store.sql, row);
    return 1;
  };
}
