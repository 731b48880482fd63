import { type IpNetwork, tlsLimits } from '@agent-service/outbound';
import type { PoolConfig } from 'pg';
import { DataFailure } from '../failure.ts';
import { guardedSockets, requireReachable } from './guarded-socket.ts';

interface TlsSettings {
  /**
   * `verify` checks certificate and host name (the default), `verify-ca` checks only the certificate, against `ca`; `require` only
   * encrypts, `off` sends everything in clear.
   */
  readonly mode: 'verify' | 'verify-ca' | 'require' | 'off';
  readonly ca?: string;
  readonly certificate?: string;
  readonly key?: string;
}

export interface ConnectionSettings {
  readonly url: string;
  /** Defaults to the URL's sslmode. Without both only this host can be connected, in clear. sslmode=verify-ca weakens `verify`. */
  readonly tls?: TlsSettings;
  readonly poolMax?: number;
  readonly connectTimeoutMs?: number;
  readonly applicationName?: string;
  /** Connects to public addresses and to those of these networks only; without it to every address and to Unix sockets. */
  readonly allowedNetworks?: readonly IpNetwork[];
}

const sslModes: Readonly<Record<string, TlsSettings['mode']>> = {
  disable: 'off',
  require: 'require',
  'verify-ca': 'verify-ca',
  'verify-full': 'verify',
};

/** The driver's settings. Parameters of the URL that would change the session or weaken TLS are refused, not passed on. */
export function poolSettings(settings: ConnectionSettings): PoolConfig {
  const { url, tls, poolMax = 5, connectTimeoutMs = 3_000, applicationName, allowedNetworks } = settings;
  const parsed = parseUrl(url);
  const mode = parsed.searchParams.get('sslmode');
  const host = parsed.searchParams.get('host') ?? decodeURIComponent(parsed.hostname.replace(/^\[(.*)\]$/, '$1'));
  requireChoice(host, { tls, mode });
  if (allowedNetworks) requireReachable(host, allowedNetworks);
  return {
    host,
    port: Number(parsed.port || 5432),
    user: decodeURIComponent(parsed.username),
    password: decodeURIComponent(parsed.password),
    database: decodeURIComponent(parsed.pathname.slice(1)),
    ssl: tlsOptions(host, resolveTls(tls, mode)),
    application_name: applicationName ?? 'agent-service',
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    min: 0,
    max: poolMax,
    ...(allowedNetworks && { stream: guardedSockets(allowedNetworks) }),
  };
}

/** The operator decides how a connection over a network is encrypted; there is no default. */
function requireChoice(host: string, { tls, mode }: { tls: TlsSettings | undefined; mode: string | null }): void {
  if (tls !== undefined || mode !== null || isLocal(host)) return;
  const modes = Object.keys(sslModes).join(', ');
  throw new DataFailure('refused', `The data source is on another host: its URL must name the encryption with sslmode (${modes}).`);
}

const isLocal = (host: string): boolean => host.startsWith('/') || /^(localhost|127(\.\d{1,3}){3}|::1)$/i.test(host);

function parseUrl(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !isComplete(parsed))
    throw new DataFailure(
      'refused',
      'The URL of a data source has the form postgres://user:password@host:port/database; in a password @, / and # are %40, %2F and %23.',
    );
  const unknown = [...parsed.searchParams.keys()].filter((name) => name !== 'sslmode' && name !== 'host');
  if (unknown.length > 0)
    throw new DataFailure('refused', `The data source's URL has parameters that are not supported: ${unknown.join(', ')}.`);
  return parsed;
}

const isComplete = ({ protocol, hostname, username, password, pathname }: URL): boolean =>
  /^postgres(ql)?:$/.test(protocol) && pathname.length > 1 && username !== '' && [hostname, username, password, pathname].every(isEncoded);

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function modeOf(sslmode: string): TlsSettings['mode'] {
  const mode = sslModes[sslmode];
  if (mode === undefined) throw new DataFailure('refused', `sslmode must be one of ${Object.keys(sslModes).join(', ')}.`);
  return mode;
}

function resolveTls(tls: TlsSettings | undefined, sslmode: string | null): TlsSettings | undefined {
  if (tls?.mode === 'verify' && sslmode === 'verify-ca') return { ...tls, mode: 'verify-ca' };
  return tls ?? (sslmode === null ? undefined : { mode: modeOf(sslmode) });
}

/**
 * The host is passed again: the driver does not pass an address to TLS, which would then expect a certificate for `localhost`.
 * With a public CA, always verify the host name.
 */
function tlsOptions(host: string, tls: TlsSettings | undefined): PoolConfig['ssl'] {
  if (tls === undefined || tls.mode === 'off') return false;
  const { mode, ca, certificate: cert, key } = tls;
  const anyName = mode === 'verify-ca' && ca ? { checkServerIdentity: () => undefined } : {};
  return {
    ...tlsLimits,
    host,
    rejectUnauthorized: mode !== 'require',
    ...anyName,
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
  };
}
