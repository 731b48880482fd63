import { type OpenIdProvider, openIdProvider } from '@agent-service/testkit';
import { afterEach, expect, test } from '@jest/globals';
import type { IdentityConfig } from '../config.ts';
import { createIdTokens } from './id-tokens.ts';

let provider: OpenIdProvider;
afterEach(() => provider.stop());

test.each(['/.well-known/openid-configuration', '/jwks'])(
  'a provider that answers %s without end is not read further than its limit',
  async (path) => {
    provider = await openIdProvider();
    const flood = provider.flood(path);
    const tokens = createIdTokens({
      OPENID_CONNECT_ISSUER: provider.issuer,
      OPENID_CONNECT_CLIENT_ID: provider.clientId,
    } as IdentityConfig);
    const token = provider.signed(provider.claims({ email: 'ada@acme.example' }, 'nonce'));
    await expect(tokens?.verify(token, 'nonce')).rejects.toMatchObject({ code: 'unavailable' });
    expect(flood.sentBytes).toBeLessThan(20_000_000);
  },
);
