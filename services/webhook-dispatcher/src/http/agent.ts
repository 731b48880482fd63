import { isIP } from 'node:net';
import { createSecureContext, getCACertificates } from 'node:tls';
import { AddressRefused, createResolve, guardedLookup, type IpNetwork, isReachable, type Resolve } from '@agent-service/outbound';
import { Agent, buildConnector } from 'undici';

const connectLimitMs = 5_000;
const idleMs = 30_000;
const originsAtOnce = 10_000;

export interface AgentOptions {
  allowed: readonly IpNetwork[];
  /** Certificates in PEM besides those that everybody knows. */
  extraAuthorities?: string | undefined;
  resolve?: Resolve;
}

/** Connections to receivers, kept alive between deliveries. None leads to where callers' requests may not go. */
export function createReceiverAgent({
  allowed,
  extraAuthorities,
  resolve = createResolve({ local: allowed.length > 0 }),
}: AgentOptions): Agent {
  const connect = buildConnector({
    timeout: connectLimitMs,
    lookup: guardedLookup(allowed, resolve),
    allowH2: false,
    ...(extraAuthorities !== undefined && { secureContext: trusting(extraAuthorities) }),
  });
  return new Agent({
    keepAliveTimeout: idleMs,
    // A receiver may ask for longer, and each of its names would take one of the origins for that time.
    keepAliveMaxTimeout: idleMs,
    maxOrigins: originsAtOnce,
    // Bodies and headers have one limit together, which is the sender's.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: 16 * 1024,
    connect: (options, callback) => {
      // An address needs no look-up, so it is judged here.
      if (isIP(options.hostname) && !isReachable(options.hostname, allowed)) return callback(refused(options.hostname), null);
      connect(options, (error, socket) => {
        if (error) return callback(error, null);
        const address = socket.remoteAddress ?? '';
        if (isReachable(address, allowed)) return callback(null, socket);
        socket.destroy();
        return callback(refused(address), null);
      });
    },
  });
}

/** Made once: a connection that is given certificates instead reads all of them again, which takes longer than its handshake. */
const trusting = (more: string) => createSecureContext({ ca: [...getCACertificates('default'), more] });

const refused = (address: string) => new AddressRefused(`${address} is a private or reserved address`);
