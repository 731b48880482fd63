import { createHmac, hkdfSync } from 'node:crypto';
import { ConfigurationError } from '@agent-service/runtime/config';

/** Keys by the name of a service: of the process's own name those that it receives calls under, of another's those that it calls it under. */
export type KeyRing = ReadonlyMap<string, readonly string[]>;

interface ServiceKeysConfig {
  /** The operator's secrets, from which every key is derived. A process that has one can sign as any service. */
  readonly SERVICE_SECRET?: readonly string[] | undefined;
  /** The keys of one process. */
  readonly SERVICE_KEYS?: KeyRing | undefined;
}

const keyBytes = 32;

/** The key of which a service derives the keys of all its callers. */
function receivingKey(secret: string, service: string): string {
  return Buffer.from(hkdfSync('sha256', secret, '', `agent-service/receiving/${service}`, keyBytes)).toString('base64url');
}

/** One for each pair: a caller can sign as itself only, and a service that leaks its key lets others sign to that service only. */
const callingKey = (receiving: string, caller: string): string =>
  createHmac('sha256', receiving).update(`caller/${caller}`).digest('base64url');

/** The value of SERVICE_KEYS for one process: what it receives calls under, and what it calls each of these services under. */
export function serviceKeysOf(secrets: readonly string[], service: string, callees: readonly string[], isServer: boolean): string {
  const [first] = secrets;
  if (first === undefined) throw new Error('service keys are derived from a secret');
  const received = isServer ? secrets.map((secret) => `${service}:${receivingKey(secret, service)}`) : [];
  const called = callees.map((callee) => `${callee}:${callingKey(receivingKey(first, callee), service)}`);
  return [...received, ...called].join(',');
}

export interface ServiceKeys {
  /** The key that a caller signs its calls of a service with; undefined where this process may not sign as that caller. */
  toCall(callee: string, caller: string): string | undefined;
  /** Every key that a caller's calls of a service may be signed with. */
  toAccept(callee: string, caller: string): readonly string[];
}

/** The keys of the process that goes by this name. */
export function openServiceKeys({ SERVICE_SECRET: secrets = [], SERVICE_KEYS: ring }: ServiceKeysConfig, name: string): ServiceKeys {
  if (secrets.length === 0 && !ring)
    throw new ConfigurationError(['SERVICE_KEYS: is required and not set ("admin service-keys print" shows it)']);
  const receiving = (callee: string): readonly string[] => {
    if (secrets.length > 0) return secrets.map((secret) => receivingKey(secret, callee));
    return callee === name ? (ring?.get(callee) ?? []) : [];
  };
  return {
    toCall(callee, caller) {
      const [first] = receiving(callee);
      if (first) return callingKey(first, caller);
      return caller === name && callee !== name ? ring?.get(callee)?.[0] : undefined;
    },
    toAccept: (callee, caller) => receiving(callee).map((key) => callingKey(key, caller)),
  };
}
