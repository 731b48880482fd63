import { constants } from 'node:crypto';
import { DEFAULT_CIPHERS } from 'node:tls';

/**
 * TLS settings for connections to servers that others choose. A handshake is computed on the main thread, before the certificate is judged: with
 * DHE the server chooses a group, and one of 10,000 bits takes seconds. By renegotiation it asks for as many handshakes as it likes.
 */
export const tlsLimits = { ciphers: `${DEFAULT_CIPHERS}:!DHE`, secureOptions: constants.SSL_OP_NO_RENEGOTIATION };
