import { createHash } from 'node:crypto';
import type { Principal } from '@agent-service/contracts';
import type { Policy, Rule } from './limiter.ts';

/** What a request costs its caller. */
export type Cost = 'read' | 'write' | 'message' | 'token';

export interface Limits {
  readonly readsPerMinute: number;
  readonly writesPerMinute: number;
  readonly messagesPerMinute: number;
  readonly tokensPerMinute: number;
}

const organizationFactor = 5;

export interface Rules {
  /** The key's own counter and its organization's. */
  forPrincipal(cost: Exclude<Cost, 'token'>, principal: Principal): Rule[];
  /** The address's counter, and the credential's if one was named. */
  forTokens(address: string, credential: string | undefined): Rule[];
}

interface Pair {
  readonly own: Policy;
  readonly organization: Policy;
}

const pair = (name: string, limit: number): Pair => ({
  own: { name, limit },
  organization: { name: `organization-${name}`, limit: limit * organizationFactor },
});

export function createRules(limits: Limits): Rules {
  const policies = {
    read: pair('reads', limits.readsPerMinute),
    write: pair('writes', limits.writesPerMinute),
    message: pair('messages', limits.messagesPerMinute),
  };
  const byAddress: Policy = { name: 'tokens-address', limit: limits.tokensPerMinute };
  const byCredential: Policy = { name: 'tokens-credential', limit: limits.tokensPerMinute };
  return {
    forPrincipal(cost, { organizationId, credentialId }) {
      const { own, organization } = policies[cost];
      const prefix = `limit:{${organizationId}}:${cost}`;
      return [
        { key: `${prefix}:${credentialId}`, policy: own },
        { key: prefix, policy: organization },
      ];
    },
    forTokens(address, credential) {
      const rule = { key: `limit:{tokens}:address:${address}`, policy: byAddress };
      return credential === undefined ? [rule] : [rule, { key: `limit:{tokens}:credential:${digest(credential)}`, policy: byCredential }];
    },
  };
}

/** A credential is a secret and may be of any length; its counter's name is neither. */
const digest = (credential: string) => createHash('sha256').update(credential).digest('base64url');
