import { openIdProvider } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import type { PortalConfig } from '../config.ts';
import { createProvider } from './provider.ts';

test('a provider that answers with a token without end is not read further than its limit', async () => {
  const remote = await openIdProvider();
  const provider = createProvider({
    OPENID_CONNECT_ISSUER: remote.issuer,
    OPENID_CONNECT_CLIENT_ID: remote.clientId,
    OPENID_CONNECT_CLIENT_SECRET: 'secret',
    PORTAL_URL: 'http://portal.example',
  } as PortalConfig);
  const { url, attempt } = (await provider?.begin({ returnTo: '/', organizationId: '' })) ?? {};
  const sent = await fetch(url ?? '', { redirect: 'manual' });
  const flood = remote.flood('/token');
  await expect(provider?.complete(sent.headers.get('location') ?? '', attempt as NonNullable<typeof attempt>)).rejects.toThrow();
  expect(flood.sentBytes).toBeLessThan(20_000_000);
  await remote.stop();
});
