import { constants } from 'node:crypto';
import { DEFAULT_CIPHERS } from 'node:tls';

/**
 * TLS settings for connections to servers that others choose. A handshake is computed on the main thread, before the certificate is judged: with
 * DHE the server chooses a group, and one of 10,000 bits takes seconds. By renegotiation it asks for as many handshakes as it likes.
 */
export const tlsLimits = { ciphers: `${DEFAULT_CIPHERS}:!DHE`, secureOptions: constants.SSL_OP_NO_RENEGOTIATION };

const maxInformational = 10;

/** Counts the informational responses (1xx) to one request, whose end no limit of headers or bodies brings, and aborts it at the eleventh. */
export function limitInformational(): (request: { abort(cause: Error): void }) => void {
  let count = 0;
  return (request) => {
    count += 1;
    if (count <= maxInformational) return;
    // The HTTP client's own code for headers without end.
    request.abort(Object.assign(new Error('the server sends too many informational responses'), { code: 'UND_ERR_HEADERS_OVERFLOW' }));
  };
}
