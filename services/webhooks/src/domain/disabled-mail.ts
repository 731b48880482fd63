export interface DisabledMail {
  endpointId: string;
  url: string;
  environment: string;
  reason: 'gone' | 'failing';
  failingSince: string;
  disabledAt: string;
}

export interface MailText {
  subject: string;
  text: string;
  html: string;
}

const why = ({ reason, failingSince }: DisabledMail): string =>
  reason === 'gone'
    ? 'it answered 410 Gone, which says that nobody will listen there again'
    : `every delivery to it has failed since ${failingSince}`;

/** What administrators read about an endpoint that was disabled by itself. */
export function disabledMail(mail: DisabledMail): MailText {
  const { endpointId, url, environment, disabledAt } = mail;
  const sentences = [
    `The webhook ${endpointId} (${environment} environment) was disabled at ${disabledAt}, because ${why(mail)}.`,
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
