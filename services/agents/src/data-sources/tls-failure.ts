const untrusted =
  'The certificate of the data source is of no authority that is trusted here. Connect it with the certificate of its own authority.';

/** By the codes of Node and OpenSSL. */
const sentences: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'The certificate of the data source has expired.',
  CERT_NOT_YET_VALID: 'The certificate of the data source is not valid yet.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate of the data source is for another host than the URL names.',
  CERT_SIGNATURE_FAILURE: untrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
};

/** What is wrong with the encryption of a connection, for the operator who can put it right; undefined when it is something else. */
export function tlsFailure(cause: unknown): string | undefined {
  const { code, message } = (typeof cause === 'object' && cause !== null ? cause : {}) as { code?: unknown; message?: unknown };
  // The driver gives this one no code.
  if (message === 'The server does not support SSL connections')
    return 'The data source does not speak TLS, which its sslmode or the given authority demands.';
  return sentences[String(code)];
}
