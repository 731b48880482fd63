export type FailureReason = 'timeout' | 'connect_timeout' | 'name_not_found' | 'address_refused' | 'tls' | 'protocol' | 'connection';

const byCode: Readonly<Record<string, FailureReason>> = {
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  ETIMEDOUT: 'connect_timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  ENOTFOUND: 'name_not_found',
  EAI_AGAIN: 'name_not_found',
  ADDRESS_REFUSED: 'address_refused',
  UND_ERR_HEADERS_OVERFLOW: 'protocol',
};

const tls = /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH)/;
const protocol = /^HPE_/;

/** Why a receiver gave no answer, from the codes of an error and of those behind it. */
export function failureReason(cause: unknown): FailureReason {
  const codes = codesOf(cause);
  for (const code of codes) {
    const known = byCode[code];
    if (known) return known;
  }
  if (codes.some((code) => tls.test(code))) return 'tls';
  return codes.some((code) => protocol.test(code)) ? 'protocol' : 'connection';
}

interface Coded {
  code?: unknown;
  cause?: unknown;
  errors?: unknown[];
}

function codesOf(cause: unknown, depth = 0): string[] {
  if (typeof cause !== 'object' || cause === null || depth > 4) return [];
  const { code, cause: inner, errors = [] } = cause as Coded;
  return [...(typeof code === 'string' ? [code] : []), ...[inner, ...errors].flatMap((each) => codesOf(each, depth + 1))];
}
