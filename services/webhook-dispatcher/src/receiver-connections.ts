import { isIP } from 'node:net';
import { createSecureContext, getCACertificates } from 'node:tls';
import {
  AddressRefused,
  createResolve,
  guardedLookup,
  type IpNetwork,
  isReachable,
  type Resolve,
  tlsLimits,
} from '@agent-service/outbound';
import { Agent, buildConnector, Pool } from 'undici';

const connectLimitMs = 5_000;
const idleMs = 30_000;
const defaultMaxOrigins = 10_000;

interface AgentOptions {
  allowed: readonly IpNetwork[];
  /** Certificates in PEM besides the default ones. */
  extraAuthorities?: string | undefined;
  resolve?: Resolve;
  /** Receivers with connections at once; requests to further ones fail. */
  maxOrigins?: number;
}

/** Connections to receivers, kept alive between deliveries. Never connects to an address that is not allowed. */
export function createReceiverAgent({
  allowed,
  extraAuthorities,
  resolve = createResolve({ local: allowed.length > 0 }),
  maxOrigins = defaultMaxOrigins,
}: AgentOptions): Agent {
  const connect = buildConnector({
    timeout: connectLimitMs,
    lookup: guardedLookup(allowed, resolve),
    allowH2: false,
    secureContext: secureContext(extraAuthorities),
  });
  return new Agent({
    keepAliveTimeout: idleMs,
    // A receiver may ask for longer, and each of its names would take one of the origins for that time.
    keepAliveMaxTimeout: idleMs,
    maxOrigins,
    factory: createPool,
    // The sender limits headers and body together.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: 16 * 1024,
    connect: (options, callback) => {
      // An address is not looked up, so it is checked here.
      if (isIP(options.hostname) && !isReachable(options.hostname, allowed)) return callback(addressError(options.hostname), null);
      connect(options, (error, socket) => {
        if (error) return callback(error, null);
        const address = socket.remoteAddress ?? '';
        if (isReachable(address, allowed)) return callback(null, socket);
        socket.destroy();
        return callback(addressError(address), null);
      });
    },
  });
}

/**
 * The connections to one origin. When the last one ends because its request was aborted, undici still counts that request as pending. The agent
 * would keep the unused pool, and its origin would count towards the limit for good.
 */
function createPool(origin: string | URL, options: object): Pool {
  const pool = new Pool(origin, options);
  pool.on('disconnect', (_origin, targets, cause) => {
    const isAborted = cause.code === 'UND_ERR_INFO' && cause.message === 'aborted';
    const { connected, size } = pool.stats;
    // The aborted request is the only one. Its connection is destroyed in the unused pool alone, because a pool keeps destroyed ones.
    if (isAborted && connected === 0 && size === 1) void targets.at(-1)?.destroy();
  });
  return pool;
}

/** Made once, because reading all certificates for each connection takes longer than its handshake. */
const secureContext = (more: string | undefined) =>
  createSecureContext({ ...tlsLimits, ...(more !== undefined && { ca: [...getCACertificates('default'), more] }) });

const addressError = (address: string) => new AddressRefused(`${address} is a private or reserved address`);
