import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';

/** Where the replicas of a service are. */
export interface Addresses {
  /** One gRPC target for each replica. */
  resolve(): Promise<readonly string[]>;
  /** True if resolving again may give other addresses. */
  readonly mayChange: boolean;
  /** The host name that certificates are checked for, where the addresses came from one. */
  readonly hostName?: string;
}

const defaultPort = '443';

/**
 * Reads a gRPC target: `ipv4:10.0.0.1:50051,10.0.0.2:50051` lists the replicas, `dns:///agents:50051` and `agents:50051` name a host
 * whose every address is a replica, as with a headless service. Other schemes are left to the library, as one replica.
 */
export function readTarget(target: string): Addresses {
  const [, scheme, list] = /^(ipv[46]):(.+)$/.exec(target) ?? [];
  if (scheme && list) return fixed(list.split(',').map((address) => `${scheme}:${address.trim()}`));
  const authority =
    /^dns:(?:\/\/\/)?([^/]+)$/.exec(target)?.[1] ?? (target.includes('/') || target.startsWith('unix:') ? undefined : target);
  if (authority === undefined) return fixed([target]);
  const [host, port] = splitPort(authority);
  return isIP(host) ? fixed([joinPort(host, port)]) : named(host, port);
}

const fixed = (targets: readonly string[]): Addresses => ({ resolve: async () => targets, mayChange: false });

function named(host: string, port: string): Addresses {
  return {
    mayChange: true,
    hostName: host,
    async resolve() {
      const addresses = await lookup(host, { all: true });
      return [...new Set(addresses.map(({ address }) => joinPort(address, port)))];
    },
  };
}

function splitPort(authority: string): [host: string, port: string] {
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(authority) ?? [];
  return [bracketed ?? plain ?? authority, port ?? defaultPort];
}

const joinPort = (host: string, port: string) => (isIP(host) === 6 ? `ipv6:[${host}]:${port}` : `ipv4:${host}:${port}`);
