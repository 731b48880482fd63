import { createHash } from 'node:crypto';
import type { Principal } from '@agent-service/contracts';
import type { Policy, Rule } from '@agent-service/http/limits/limits';

/** The kind of limit that a request counts against. */
export type Cost = 'read' | 'write' | 'message' | 'token';

export interface Limits {
  readonly readsPerMinute: number;
  readonly writesPerMinute: number;
  readonly messagesPerMinute: number;
  readonly endUserMessagesPerMinute: number;
  readonly tokensPerMinute: number;
  readonly failedAuthenticationsPerMinute: number;
}

const organizationFactor = 5;

export interface Rules {
  /** The key's own counter and its organization's. */
  forPrincipal(cost: Exclude<Cost, 'token'>, principal: Principal): Rule[];
  /** A token request of this address, before its body is read. */
  forTokenRequest(address: string): Rule[];
  /** The credential that this address claims. Other addresses count apart, so that their wrong secrets lock no client out. */
  forClaim(address: string, credential: string): Rule[];
  /** A token that is issued for the credential. */
  forIssuedToken(credential: string): Rule[];
  forFailedAuthentication(address: string): Rule[];
}

/** The policies of one kind of request. */
interface Policies {
  readonly own: Policy;
  /** In place of `own`, of a token for an end user. */
  readonly endUser: Policy;
  readonly organization: Policy;
}

/** Requests a minute of each kind: of one credential, and of all of its organization. */
export type CallerLimits = Readonly<Record<Exclude<Cost, 'token'>, { readonly credential: number; readonly organization: number }>>;

export function callerLimits({ readsPerMinute, writesPerMinute, messagesPerMinute }: Limits): CallerLimits {
  const both = (credential: number) => ({ credential, organization: credential * organizationFactor });
  return { read: both(readsPerMinute), write: both(writesPerMinute), message: both(messagesPerMinute) };
}

export function createRules(limits: Limits): Rules {
  // The authenticator returns the same principal object for a credential, so most requests find their rules here.
  const ofPrincipals = new WeakMap<Principal, Partial<Record<Cost, Rule[]>>>();
  const policiesOf = (name: string, limit: number): Policies => ({
    own: { name, limit },
    endUser: { name: `end-user-${name}`, limit: limits.endUserMessagesPerMinute },
    organization: { name: `organization-${name}`, limit: limit * organizationFactor },
  });
  const policies = {
    read: policiesOf('reads', limits.readsPerMinute),
    write: policiesOf('writes', limits.writesPerMinute),
    message: policiesOf('messages', limits.messagesPerMinute),
  };
  const byAddress: Policy = { name: 'tokens-address', limit: limits.tokensPerMinute };
  const byClaim: Policy = { name: 'tokens-claim', limit: limits.tokensPerMinute };
  const byCredential: Policy = { name: 'tokens-credential', limit: limits.tokensPerMinute };
  const failures: Policy = { name: 'failed-authentications', limit: limits.failedAuthenticationsPerMinute };
  const rulesOf = (cost: Exclude<Cost, 'token'>, { organizationId, credentialId, tokenId }: Principal): Rule[] => {
    const { own, endUser, organization } = policies[cost];
    const prefix = `limit:{${organizationId}}:${cost}`;
    // One end user cannot use up what the others have under the same credential.
    if (tokenId)
      return [
        { key: `${prefix}:token:${tokenId}`, policy: endUser },
        { key: prefix, policy: organization },
      ];
    return [
      { key: `${prefix}:${credentialId}`, policy: own },
      { key: prefix, policy: organization },
    ];
  };
  const issued = (credential: string) => ({ key: `limit:{tokens}:credential:${digest(credential)}`, policy: byCredential });
  return {
    forPrincipal(cost, principal) {
      const known = ofPrincipals.get(principal) ?? {};
      ofPrincipals.set(principal, known);
      known[cost] ??= rulesOf(cost, principal);
      return known[cost];
    },
    forTokenRequest: (address) => [{ key: `limit:{tokens}:address:${address}`, policy: byAddress }],
    forClaim: (address, credential) => [
      { key: `limit:{tokens}:claim:${address}:${digest(credential)}`, policy: byClaim },
      { ...issued(credential), onlyChecked: true },
    ],
    forIssuedToken: (credential) => [issued(credential)],
    forFailedAuthentication: (address) => [{ key: `limit:{failures:${address}}`, policy: failures }],
  };
}

/** A credential is a secret of any length, so its counter is named by a hash. */
const digest = (credential: string) => createHash('sha256').update(credential).digest('base64url');
