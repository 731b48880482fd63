import type { ProcessContext } from '@agent-service/runtime';
import { createTransport } from 'nodemailer';
import type { MailText } from '../domain/disabled-mail.ts';

const limits = { connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 10_000, dnsTimeout: 5_000 };

export interface Mail extends MailText {
  /** The same for every try, so that mail servers know a repeat. */
  id: string;
  to: readonly string[];
}

export interface Mailer {
  send(mail: Mail): Promise<void>;
}

/** Sends over SMTP; undefined where no server is configured. */
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

/** The mail server will never take this mail. */
export function isPermanent(cause: unknown): boolean {
  const { responseCode } = (cause ?? {}) as { responseCode?: number };
  return responseCode !== undefined && responseCode >= 500;
}
