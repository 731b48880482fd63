import { ServiceError } from '@agent-service/contracts';

const basic = /^Basic +([A-Za-z0-9+/]+={0,2})$/i;
const basicScheme = /^Basic(?: |$)/i;

export interface BasicCredentials {
  readonly id: string;
  readonly secret: string;
}

/** HTTP Basic client authentication as RFC 6749, section 2.3.1 has it: both halves are form-encoded. Undefined for any other scheme. */
export function basicCredentials(header: string | undefined): BasicCredentials | undefined {
  if (header === undefined || !basicScheme.test(header)) return undefined;
  const [id, ...secret] = Buffer.from(basic.exec(header)?.[1] ?? '', 'base64')
    .toString()
    .split(':');
  const credentials = { id: formDecoded(id ?? ''), secret: formDecoded(secret.join(':')) };
  if (credentials.id === '' || credentials.secret === '')
    throw new ServiceError('invalid_client', { message: 'The Authorization header is not valid Basic authentication.' });
  return credentials;
}

function formDecoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    // A lone percent sign: this client sent its credentials as they are, as many do.
    return text;
  }
}
