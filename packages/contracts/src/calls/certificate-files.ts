import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { reasonOf } from '@agent-service/runtime/failures';
import type { experimental } from '@grpc/grpc-js';
import type { ClientConfig } from './settings.ts';

type Provider = experimental.CertificateProvider;
type CaListener = Parameters<Provider['addCaCertificateListener']>[0];
type IdentityListener = Parameters<Provider['addIdentityCertificateListener']>[0];

const rereadAfterMs = 60_000;

/**
 * The certificates of calls between services. They are read again each minute while something listens, since what renews certificates
 * (cert-manager, for one) changes the files of a running process: connections that are open stay, new ones use what was read last.
 * The library's own FileWatcherCertificateProvider ends the service of new connections when a file cannot be read for a moment, or when it reads a
 * certificate before its renewal and the key after it. This one keeps what it has until the files fit together.
 */
export class CertificateFiles implements Provider {
  readonly #config: ClientConfig;
  readonly #caListeners = new Set<CaListener>();
  readonly #identityListeners = new Set<IdentityListener>();
  #read: Read;
  #timer: NodeJS.Timeout | undefined;

  constructor(config: ClientConfig) {
    this.#config = config;
    this.#read = readFiles(config);
  }

  /** Is true where the settings name a file with an authority. */
  get hasAuthority(): boolean {
    return this.#read.authority !== undefined;
  }

  /** Is true where the settings name a certificate and its key. */
  get hasIdentity(): boolean {
    return this.#read.identity !== undefined;
  }

  addCaCertificateListener(listener: CaListener): void {
    this.#caListeners.add(listener);
    this.#begin(() => listener(this.#authority()));
  }

  removeCaCertificateListener(listener: CaListener): void {
    this.#caListeners.delete(listener);
    this.#endIfUnused();
  }

  addIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.add(listener);
    this.#begin(() => listener(this.#read.identity ?? null));
  }

  removeIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.delete(listener);
    this.#endIfUnused();
  }

  #begin(tell: () => void): void {
    if (this.#timer === undefined) {
      // Nothing was read while nothing listened, as with a client that had no connection for a while.
      this.#readAgain();
      this.#timer = setInterval(() => this.#readAgain() && this.#tellAll(), rereadAfterMs).unref();
    }
    // The library adds a listener before it is ready to be called.
    process.nextTick(tell);
  }

  #endIfUnused(): void {
    if (this.#caListeners.size > 0 || this.#identityListeners.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #authority(): { caCertificate: Buffer } | null {
    return this.#read.authority ? { caCertificate: this.#read.authority } : null;
  }

  /** Returns true when the files had changed. */
  #readAgain(): boolean {
    try {
      const next = readFiles(this.#config);
      const isChanged = next.content !== this.#read.content;
      this.#read = next;
      return isChanged;
    } catch (cause) {
      const reason = reasonOf(cause);
      process.emitWarning(`the certificates of gRPC are still those read before: ${reason}`, { code: 'CERTIFICATES_NOT_READ' });
      return false;
    }
  }

  #tellAll(): void {
    for (const tell of this.#caListeners) tell(this.#authority());
    for (const tell of this.#identityListeners) tell(this.#read.identity ?? null);
  }
}

interface Read {
  readonly authority: Buffer | undefined;
  readonly identity: { certificate: Buffer; privateKey: Buffer } | undefined;
  /** All files as one text, by which a change is seen. */
  readonly content: string;
}

/** Throws when a file cannot be read, is no certificate, or belongs to another than the key. */
function readFiles({ GRPC_TLS_CA_FILE: ca, GRPC_TLS_CERT_FILE: cert, GRPC_TLS_KEY_FILE: key }: ClientConfig): Read {
  const authority = ca === undefined ? undefined : readFileSync(ca);
  // OpenSSL takes a file without any certificate for an empty list of authorities.
  if (authority) new X509Certificate(authority);
  const identity = cert !== undefined && key !== undefined ? { certificate: readFileSync(cert), privateKey: readFileSync(key) } : undefined;
  createSecureContext({ ca: authority, cert: identity?.certificate, key: identity?.privateKey });
  return { authority, identity, content: [authority, identity?.certificate, identity?.privateKey].join('\0') };
}
