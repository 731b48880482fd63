import { describe, expect, test } from '@jest/globals';
import type { Principal } from './principal.ts';
import { openServiceKeys, serviceKeysOf } from './service-keys.ts';
import { type CallSigner, CallVerifier, CallSigner as Signer } from './signed-caller.ts';

const secrets = ['the-secret-of-the-operator-long-enough'];
const principal: Principal = {
  organizationId: 'org_a',
  environment: 'live',
  userId: 'usr_a',
  credentialId: 'key_a',
  scopes: ['users:read'],
  admin: false,
};
const call = { path: '/identity/UpdateUser', challenge: 'c1', requestId: 'r1', idempotency: '', body: Buffer.from('body') };

/** The keys that a process of this name is given, in the form in which it is given them. */
function keysOf(name: string, callees: readonly string[], isServer = true) {
  const entries = serviceKeysOf(secrets, name, callees, isServer).split(',');
  const pairs = entries.map((entry) => entry.split(':') as [string, string]);
  return openServiceKeys({ SERVICE_KEYS: new Map(pairs.map(([each, key]) => [each, [key]])) }, name);
}

const gateway = keysOf('gateway', ['identity', 'agents', 'templates'], false);
const identity = new CallVerifier(keysOf('identity', []), 'identity');
const agents = new CallVerifier(keysOf('agents', ['identity']), 'agents');
const sign = (signer: CallSigner) => signer.sign(call, principal, undefined);

describe('a signed call', () => {
  test('says who calls for whom, and under which challenge', () => {
    expect(identity.verify(sign(new Signer(gateway, 'gateway', 'identity')), call)).toMatchObject({
      caller: { service: 'gateway', principal },
      challenge: 'c1',
    });
  });

  test('is good for its service, method, request, effect and content only', () => {
    const signed = sign(new Signer(gateway, 'gateway', 'identity'));
    expect(agents.verify(signed, call)).toBeUndefined();
    for (const change of [{ path: '/identity/CreateKey' }, { requestId: 'r2' }, { idempotency: 'other' }, { body: Buffer.from('bodY') }])
      expect(identity.verify(signed, { ...call, ...change })).toBeUndefined();
    const parts = signed.caller.split('.');
    for (const [index, part] of parts.entries()) {
      const forged = parts.with(index, part.startsWith('A') ? `B${part.slice(1)}` : `A${part.slice(1)}`).join('.');
      expect(identity.verify({ ...signed, caller: forged }, call)).toBeUndefined();
    }
    for (const text of ['', '.', '....', 'gateway', `${signed.caller}.x`, signed.caller.slice(0, -1)])
      expect(identity.verify({ ...signed, caller: text }, call)).toBeUndefined();
  });

  test('is no other service’s: each process can sign as itself only, and to the services that it calls', () => {
    const worker = keysOf('answer-worker', ['agents'], false);
    for (const name of ['operator', 'gateway', 'templates']) expect(() => new Signer(worker, name, 'agents')).toThrow(/no key/);
    expect(() => new Signer(worker, 'answer-worker', 'identity')).toThrow(/no key/);
    const own = new Signer(worker, 'answer-worker', 'agents').sign(call, undefined, undefined);
    expect(agents.verify(own, call)?.caller).toEqual({ service: 'answer-worker' });
    expect(agents.verify({ ...own, caller: own.caller.replace('answer-worker', 'operator') }, call)).toBeUndefined();
    // A service that gives its own keys away lets others sign to itself, and to nobody else.
    const leaked = keysOf('agents', ['identity']);
    for (const name of ['operator', 'gateway']) expect(() => new Signer(leaked, name, 'identity')).toThrow(/no key/);
  });
});

describe('for whom a service calls', () => {
  const templates = keysOf('templates', ['agents']);

  test('is believed of another service only with the gateway’s word', () => {
    const { voucher } = sign(new Signer(gateway, 'gateway', 'templates'));
    const onward = new Signer(templates, 'templates', 'agents').sign(call, principal, voucher);
    expect(agents.verify(onward, call)?.caller).toEqual({ service: 'templates', principal });
    const other = new Signer(templates, 'templates', 'agents').sign(call, { ...principal, organizationId: 'org_b' }, voucher);
    expect(agents.verify(other, call)).toBeUndefined();
    expect(agents.verify({ ...onward, voucher: '' }, call)).toBeUndefined();
    const later = new Signer(templates, 'templates', 'agents').sign({ ...call, requestId: 'r2' }, principal, voucher);
    expect(agents.verify(later, { ...call, requestId: 'r2' })).toBeUndefined();
  });

  test('is not said at all without it', () => {
    const signed = new Signer(templates, 'templates', 'agents').sign(call, principal, undefined);
    expect(agents.verify(signed, call)?.caller).toEqual({ service: 'templates' });
  });
});

test('the secret can be changed without a pause: the first signs, all are accepted', () => {
  const next = 'the-next-secret-of-the-operator-long-enough';
  const both = new CallVerifier(openServiceKeys({ SERVICE_SECRET: [next, ...secrets] }, 'identity'), 'identity');
  for (const each of [next, ...secrets]) {
    const signer = new Signer(openServiceKeys({ SERVICE_SECRET: [each] }, 'gateway'), 'gateway', 'identity');
    expect(both.verify(sign(signer), call)).toBeDefined();
  }
  const stranger = new Signer(
    openServiceKeys({ SERVICE_SECRET: ['another-secret-that-is-long-enough-too'] }, 'gateway'),
    'gateway',
    'identity',
  );
  expect(both.verify(sign(stranger), call)).toBeUndefined();
  expect(() => openServiceKeys({}, 'identity')).toThrow(/SERVICE_KEYS/);
});
