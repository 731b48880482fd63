import { createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Principal } from './principal.ts';
import { openServiceKeys, serviceKeysOf } from './service-keys.ts';
import { CallSigner, CallVerifier, Mac } from './signed-caller.ts';

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
    expect(identity.verify(sign(new CallSigner(gateway, 'gateway', 'identity')), call)).toMatchObject({
      caller: { service: 'gateway', principal },
      challenge: 'c1',
    });
  });

  test('is good for its service, method, request, effect and content only', () => {
    const signed = sign(new CallSigner(gateway, 'gateway', 'identity'));
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

  test('has another signature each time, so that an equal call is not taken for a repeat of it', () => {
    const signer = new CallSigner(gateway, 'gateway', 'identity');
    const signatures = [sign(signer), sign(signer)].map((signed) => identity.verify(signed, call)?.signature);
    expect(new Set(signatures).size).toBe(2);
    expect(signatures).not.toContain(undefined);
  });

  test('is no other service’s: each process can sign as itself only, and to the services that it calls', () => {
    const worker = keysOf('answer-worker', ['agents'], false);
    for (const name of ['operator', 'gateway', 'templates']) expect(() => new CallSigner(worker, name, 'agents')).toThrow(/no key/);
    expect(() => new CallSigner(worker, 'answer-worker', 'identity')).toThrow(/no key/);
    const own = new CallSigner(worker, 'answer-worker', 'agents').sign(call, undefined, undefined);
    expect(agents.verify(own, call)?.caller).toEqual({ service: 'answer-worker' });
    expect(agents.verify({ ...own, caller: own.caller.replace('answer-worker', 'operator') }, call)).toBeUndefined();
    // A leaked receiving key lets others sign to its service only.
    const leaked = keysOf('agents', ['identity']);
    for (const name of ['operator', 'gateway']) expect(() => new CallSigner(leaked, name, 'identity')).toThrow(/no key/);
  });
});

describe('a principal that a service forwards', () => {
  const activate = { ...call, path: '/agentservice.v1.TemplatesService/ActivateTemplate' };
  const further = { ...call, path: '/agentservice.v1.AgentsService/ActivateTemplateAgent' };
  const templates = new CallSigner(keysOf('templates', ['agents']), 'templates', 'agents');
  let now = 1_800_000_000_000;
  const receiver = new CallVerifier(keysOf('agents', ['identity']), 'agents', () => now);
  const issue = (received = activate) =>
    new CallSigner(gateway, 'gateway', 'templates', () => now).sign(received, principal, undefined).voucher;
  const forward = (voucher: string, changes: Partial<typeof further> = {}, of = principal) =>
    receiver.verify(templates.sign({ ...further, ...changes }, of, voucher), { ...further, ...changes })?.caller;

  test('is believed with the gateway’s voucher', () => {
    expect(forward(issue())).toEqual({ service: 'templates', principal });
  });

  test('is refused for another principal, another request or without the voucher', () => {
    const voucher = issue();
    expect(forward(voucher, {}, { ...principal, organizationId: 'org_b' })).toBeUndefined();
    expect(forward(voucher, { requestId: 'r2' })).toBeUndefined();
    expect(receiver.verify({ ...templates.sign(further, principal, voucher), voucher: '' }, further)).toBeUndefined();
  });

  test('is refused at every method but the one that the called method forwards to', () => {
    for (const name of ['CreateAgent', 'ListTemplateAgents', 'DeleteAgent'])
      expect(forward(issue(), { path: `/agentservice.v1.AgentsService/${name}` })).toBeUndefined();
    const list = issue({ ...activate, path: '/agentservice.v1.TemplatesService/ListTemplates' });
    expect(forward(list)).toBeUndefined();
    expect(forward(list, { path: '/agentservice.v1.AgentsService/ListTemplateAgents' })).toEqual({ service: 'templates', principal });
    // A method that forwards nothing gets no voucher at all.
    expect(issue({ ...activate, path: '/agentservice.v1.TemplatesService/Other' })).toBe('');
  });

  test('is refused once the request is over, and where the voucher is dated ahead or again', () => {
    const voucher = issue();
    const [issuedAt = '', signature = ''] = voucher.split('.');
    now += 13_900;
    expect(forward(voucher)).toBeDefined();
    now += 200;
    expect(forward(voucher)).toBeUndefined();
    expect(forward(`${(Number.parseInt(issuedAt, 36) + 10_000).toString(36)}.${signature}`)).toBeUndefined();
    for (const text of [signature, `.${signature}`, `NaN.${signature}`, '.', 'x']) expect(forward(text)).toBeUndefined();
    now -= 14_100 + 3_900;
    expect(forward(voucher)).toBeDefined();
    now -= 200;
    expect(forward(voucher)).toBeUndefined();
  });

  test('is refused at a service that vouchers of this kind are not for', () => {
    const voucher = issue();
    const elsewhere = new CallVerifier(openServiceKeys({ SERVICE_SECRET: secrets }, 'credits'), 'credits', () => now);
    const signer = new CallSigner(openServiceKeys({ SERVICE_SECRET: secrets }, 'templates'), 'templates', 'credits');
    expect(elsewhere.verify(signer.sign(further, principal, voucher), further)).toBeUndefined();
    const other = new CallSigner(openServiceKeys({ SERVICE_SECRET: secrets }, 'webhooks'), 'webhooks', 'agents');
    expect(receiver.verify(other.sign(further, principal, voucher), further)).toBeUndefined();
  });

  test('is not stated at all without one', () => {
    const signed = templates.sign(further, principal, undefined);
    expect(receiver.verify(signed, further)?.caller).toEqual({ service: 'templates' });
  });
});

test('the secret can be changed without a pause: the first signs, all are accepted', () => {
  const next = 'the-next-secret-of-the-operator-long-enough';
  const both = new CallVerifier(openServiceKeys({ SERVICE_SECRET: [next, ...secrets] }, 'identity'), 'identity');
  for (const each of [next, ...secrets]) {
    const signer = new CallSigner(openServiceKeys({ SERVICE_SECRET: [each] }, 'gateway'), 'gateway', 'identity');
    expect(both.verify(sign(signer), call)).toBeDefined();
  }
  const activate = { ...call, path: '/agentservice.v1.TemplatesService/ActivateTemplate' };
  const further = { ...call, path: '/agentservice.v1.AgentsService/ActivateTemplateAgent' };
  const now = () => 1_800_000_000_000;
  const receiver = new CallVerifier(openServiceKeys({ SERVICE_SECRET: [next, ...secrets] }, 'agents'), 'agents', now);
  for (const each of [next, ...secrets]) {
    const keys = (name: string) => openServiceKeys({ SERVICE_SECRET: [each] }, name);
    const { voucher } = new CallSigner(keys('gateway'), 'gateway', 'templates', now).sign(activate, principal, undefined);
    const forwarded = new CallSigner(keys('templates'), 'templates', 'agents').sign(further, principal, voucher);
    expect(receiver.verify(forwarded, further)?.caller).toEqual({ service: 'templates', principal });
  }
  const stranger = new CallSigner(
    openServiceKeys({ SERVICE_SECRET: ['another-secret-that-is-long-enough-too'] }, 'gateway'),
    'gateway',
    'identity',
  );
  expect(both.verify(sign(stranger), call)).toBeUndefined();
  expect(() => openServiceKeys({}, 'identity')).toThrow(/SERVICE_KEYS/);
});

test('the keys of a secret stay the same, because the processes of an operator hold them', () => {
  expect(serviceKeysOf(secrets, 'agents', ['identity'], true)).toBe(
    'agents:VX72R4E4sXZ2SCiH_JETusqfiMQO5meGSkmijY1mNbc,identity:m-jVvm6xjkMJ4IXiFdGJe87QW-DNH7qGYxvS50MFeXs',
  );
});

test('it is HMAC-SHA-256, for keys and messages of any length', () => {
  const bytes = fc.uint8Array({ maxLength: 300 });
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 200 }),
      fc.array(fc.tuple(fc.string({ unit: 'grapheme' }), bytes)),
      (key, messages) => {
        const mac = new Mac(key);
        for (const [text, body] of messages) {
          expect(mac.of(text, body)).toBe(createHmac('sha256', key).update(text).update(body).digest('base64url'));
          expect(mac.of(text)).toBe(createHmac('sha256', key).update(text).digest('base64url'));
        }
      },
    ),
  );
});

test('a key longer than a block is hashed first', () => {
  for (const length of [64, 65, 200]) {
    const key = 'k'.repeat(length);
    expect(new Mac(key).of('text')).toBe(createHmac('sha256', key).update('text').digest('base64url'));
  }
});

test('messages around the size of the kept buffer, in any order, have the right codes', () => {
  const mac = new Mac('a key');
  const texts = ['é'.repeat(1_365), 'é'.repeat(1_366), '€'.repeat(1_365), '€'.repeat(3_000), 'x'.repeat(4_096), 'x'.repeat(5_000), '', 'x'];
  const sizes = [0, 1, 4_096, 9_000];
  for (const text of texts)
    for (const size of sizes) {
      const body = Buffer.alloc(size, 7);
      expect(mac.of(text, body)).toBe(createHmac('sha256', 'a key').update(text).update(body).digest('base64url'));
    }
});
