import type { Client } from '@agent-service/contracts';
import type { Logger, ProcessContext } from '@agent-service/runtime';
import type { Store } from '@agent-service/store';
import { createBackoff } from '@agent-service/work';
import { createTransport } from 'nodemailer';
import { claimNotice, type DisabledNotice, type NoticeRow, removeNotice } from './store/notices.ts';
import { toMs } from './store/queue.ts';

const pauseAfter = createBackoff({ firstMs: 60_000, maxMs: 3_600_000 });
const abandonedAfterMs = 3 * 24 * 3_600_000;

interface NotifierOptions {
  store: Store;
  identity: Pick<Client<'identity'>, 'listAdministrators'>;
  mailer: Mailer | undefined;
  logger: Logger;
  now: () => number;
}

/** Sends notices to administrators, one mail each, and retries until a mail is sent, refused or too old. */
export function createNotifier({ store, identity, mailer, logger, now }: NotifierOptions): () => Promise<number> {
  async function sendNotice(row: NoticeRow): Promise<void> {
    const about = { notice_id: row.id, organization_id: row.organizationId, webhook_id: row.notice.endpointId };
    if (!mailer) return logger.warn({ event: 'notice_without_mail_server', ...about });
    const { users } = await identity.listAdministrators({ organizationId: row.organizationId });
    const to = users.map(({ email }) => email).filter((email) => email !== '');
    if (to.length === 0) return logger.warn({ event: 'notice_without_address', ...about });
    await mailer.send({ id: row.id, to, ...disabledMail({ ...row.notice, environment: row.environment }) });
    logger.info({ event: 'notice_sent', recipients: to.length, ...about });
  }

  /** Resolves to true if the notice needs no further attempt. */
  async function processNotice(row: NoticeRow): Promise<boolean> {
    try {
      await sendNotice(row);
      return true;
    } catch (cause) {
      const isFinal = isPermanent(cause) || now() - toMs(row.createdAt) > abandonedAfterMs;
      logger[isFinal ? 'error' : 'warn']({
        event: isFinal ? 'notice_abandoned' : 'notice_failed',
        notice_id: row.id,
        tries: row.tries + 1,
        err: cause,
      });
      return isFinal;
    }
  }

  return async () => {
    const row = await store.transaction(({ sql }) => claimNotice(sql, now(), (tries) => now() + pauseAfter(tries + 1)));
    if (!row) return 0;
    if (await processNotice(row)) await removeNotice(store.sql, row);
    return 1;
  };
}

const limits = { connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 10_000, dnsTimeout: 5_000 };

interface Mail extends MailText {
  /** The same for every attempt, so that mail servers recognize a repeated mail. */
  id: string;
  to: readonly string[];
}

interface Mailer {
  send(mail: Mail): Promise<void>;
}

/** Sends mail over SMTP; undefined where no server is configured. */
export function createMailer(
  process: ProcessContext,
  { SMTP_URL: url, SMTP_FROM: from }: { SMTP_URL?: string | undefined; SMTP_FROM: string },
  now: () => number,
): Mailer | undefined {
  if (url === undefined) return undefined;
  const transport = createTransport({ url, ...limits });
  process.onStop('mail', async () => transport.close());
  return {
    async send({ id, to, subject, text, html }) {
      await transport.sendMail({
        from,
        to: [...to],
        subject,
        text,
        html,
        date: new Date(now()),
        messageId: `<${id}@agent-service>`,
        disableFileAccess: true,
        disableUrlAccess: true,
      });
    },
  };
}

/** The commands that transfer the recipients and the message. A mail server that refuses an earlier command refuses the service, and not this mail. */
const mailCommands = ['RCPT TO', 'DATA'];

/** The mail server refuses this mail for good. */
function isPermanent(cause: unknown): boolean {
  const { responseCode = 0, command = '' } = (cause ?? {}) as { responseCode?: number; command?: string };
  return responseCode >= 500 && mailCommands.includes(command);
}

type DisabledMail = DisabledNotice & { readonly environment: string };

interface MailText {
  subject: string;
  text: string;
  html: string;
}

const reasonText = ({ reason, failingSince }: DisabledMail): string =>
  reason === 'gone'
    ? 'it answered 410 Gone, which says that the receiver is gone for good'
    : `every delivery to it has failed since ${failingSince}`;

/** The mail about a webhook that the service disabled. */
function disabledMail(mail: DisabledMail): MailText {
  const { endpointId, url, environment, disabledAt } = mail;
  const sentences = [
    `The webhook ${endpointId} (${environment} environment) was disabled at ${disabledAt}, because ${reasonText(mail)}.`,
    'Deliveries that were still waiting for it have been dropped, and no further events are recorded for it.',
    `When the receiver works again, enable the webhook with PATCH /v1/webhooks/${endpointId} and {"active": true}.`,
  ];
  const facts: [string, string][] = [
    ['Webhook', endpointId],
    ['URL', url],
    ['Environment', environment],
    ['Disabled at', disabledAt],
  ];
  return {
    subject: `Webhook ${endpointId} was disabled`,
    text: [...sentences, facts.map(([name, value]) => `${name}: ${value}`).join('\n')].join('\n\n'),
    html: page(sentences, facts),
  };
}

function page(sentences: readonly string[], facts: readonly [string, string][]): string {
  const rows = facts.map(([name, value]) => `<tr><th align="left">${escapeHtml(name)}</th><td>${escapeHtml(value)}</td></tr>`);
  return `<!doctype html><html lang="en"><body>${sentences.map((text) => `<p>${escapeHtml(text)}</p>`).join('')}<table>${rows.join('')}</table></body></html>`;
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => entities[character] as string);
