import { makeApiKey, type Principal } from '@agent-service/contracts';
import { createProcess, type RunningProcess } from '@agent-service/runtime';
import { readGatewayConfig } from '../../src/config.ts';
import { start } from '../../src/start.ts';
import type { Peer } from './peer.ts';
import { peerSettings } from './peer-settings.ts';

export interface Gateway {
  readonly url: string;
  readonly port: number;
  readonly process: RunningProcess;
  stop(): Promise<void>;
}

interface GatewayOptions {
  /** Gives up Redis after the usual limits, as in production. Otherwise the gateway waits, so that a busy machine changes no count. */
  readonly giveUpRedis?: boolean;
}

/** Longer than a test may take. */
export const patientMs = 300_000;

/** A whole gateway in this process, on a free port, with webhooks by default. */
export async function startGateway(
  peer: Peer,
  redisUrl: string,
  settings: Record<string, string> = {},
  { giveUpRedis = false }: GatewayOptions = {},
): Promise<Gateway> {
  const config = readGatewayConfig({
    HOST: '127.0.0.1',
    PORT: '0',
    OPS_PORT: '0',
    LOG_LEVEL: 'silent',
    SERVICE_SECRET: peerSettings.SERVICE_SECRET.join(','),
    IDENTITY_ADDRESS: peer.address,
    CREDITS_ADDRESS: peer.creditsAddress,
    AGENTS_ADDRESS: peer.agentsAddress,
    TEMPLATES_ADDRESS: peer.templatesAddress,
    WEBHOOKS_ENABLED: 'true',
    WEBHOOKS_ADDRESS: peer.webhooksAddress,
    REDIS_URL: redisUrl,
    ...settings,
  });
  const process = await createProcess('gateway', config, (context, read) =>
    start(context, read, giveUpRedis ? {} : { redisLimitMs: patientMs }),
  );
  return { url: `http://127.0.0.1:${process.started}`, port: process.started, process, stop: () => process.stop() };
}

export const apiKey = (letter: string) => makeApiKey('live', letter.repeat(32));

export const everyScope = [
  'agents:read',
  'agents:write',
  'agents:chat',
  'users:read',
  'users:write',
  'audit:read',
  'credits:read',
  'credits:write',
  'templates:read',
  'templates:write',
  'webhooks:read',
  'webhooks:write',
];

/** A caller with an organization of the same letter by default. */
export function caller(letter: string, more: Partial<Principal> = {}): Principal {
  return {
    organizationId: `org_${letter}`,
    environment: 'live',
    userId: `usr_${letter}`,
    credentialId: `key_${letter}`,
    scopes: everyScope,
    admin: true,
    ...more,
  };
}

/** Lets the peer accept these callers' keys. */
export function admit(peer: Peer, callers: Record<string, Principal>): void {
  peer.script.authenticate = async ({ tokens }) => ({
    results: tokens.map((token) => {
      const principal = callers[token];
      return principal ? { principal: { ...principal, scopes: [...principal.scopes] } } : { refusal: 'invalid_token' };
    }),
  });
}
