import { expect, test } from '@jest/globals';
import { type Claims, readClaims, toSigned } from './tokens.ts';

const claims: Claims = {
  iss: 'us',
  sub: 'usr_1',
  org: 'org_1',
  env: 'live',
  key_id: 'key_1',
  scope: 'agents:chat',
  admin: false,
  jti: 't_1',
  iat: 1,
  exp: 2,
};

test('claims are read as they were signed, with an agent or without', () => {
  const ofAgent = { ...claims, agent_id: 'agt_1' };
  for (const some of [claims, ofAgent, { ...ofAgent, parent_iat: 1, parent_kid: 'k1' }])
    expect(readClaims(structuredClone(toSigned(some)))).toEqual(some);
});

test('no mixture of both kinds of claims is read', () => {
  const signed = toSigned({ ...claims, agent_id: 'agt_1' });
  const wrong = [
    { ...claims, aud: 'agent:agt_1' },
    { ...claims, agent_id: 'agt_1' },
    { ...signed, aud: undefined },
    { ...signed, aud: 'agent:' },
    { ...signed, aud: ['agent:agt_1'] },
    { ...signed, aud: 'other' },
    { ...signed, aud: 'other:agt_1' },
    { ...signed, key_id: 'key_1' },
    { ...signed, parent_key_id: undefined },
    { ...signed, parent_iat: 1 },
    { ...signed, parent_kid: 'k1' },
    { ...signed, parent_iat: '1', parent_kid: 'k1' },
  ];
  for (const payload of wrong) expect(readClaims(payload)).toBeUndefined();
});

test('a payload with a claim in another form is not read', () => {
  for (const wrong of [
    { env: 'other' },
    { admin: 'yes' },
    { iat: '1' },
    { iat: 1.5 },
    { exp: undefined },
    { exp: '2' },
    { scope: ['agents:chat'] },
  ])
    expect(readClaims({ ...claims, ...wrong })).toBeUndefined();
  for (const payload of [undefined, null, 'text']) expect(readClaims(payload)).toBeUndefined();
});

test('an agent token never has the administrator flag', () => {
  const signed = toSigned({ ...claims, admin: true, agent_id: 'agt_1' });
  expect(readClaims(signed)).toMatchObject({ admin: false });
  expect(readClaims({ ...signed, admin: true })).toMatchObject({ admin: false });
});
