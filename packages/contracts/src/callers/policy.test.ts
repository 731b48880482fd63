import { expect, test } from '@jest/globals';
import { callers, callersAndOperators, enforce, operators, type Policy, services } from './policy.ts';
import type { Principal } from './principal.ts';

const principal: Principal = {
  organizationId: 'org_a',
  environment: 'live',
  userId: 'usr_a',
  credentialId: 'key_a',
  scopes: ['agents:read'],
  admin: false,
};

/** The code of the refusal; undefined where the policy lets the caller in. */
function refusalOf(policy: Policy, service: string, of?: Partial<Principal>): string | undefined {
  try {
    enforce(policy, { service, ...(of && { principal: { ...principal, ...of } }) });
    return undefined;
  } catch (cause) {
    return (cause as { code: string }).code;
  }
}

test('only the services of a policy are let in, the operator where it is one of them', () => {
  expect(refusalOf(services('agents'), 'agents')).toBeUndefined();
  expect(refusalOf(services('agents'), 'gateway', {})).toBe('service_forbidden');
  expect(refusalOf(services('agents'), 'operator')).toBe('service_forbidden');
  expect(refusalOf(callers(), 'operator')).toBe('service_forbidden');
  expect(refusalOf(operators, 'gateway', { admin: true })).toBe('service_forbidden');
});

test('the operator needs no scope and no administrator flag', () => {
  expect(refusalOf(callersAndOperators({ scope: 'agents:read', admin: true }), 'operator')).toBeUndefined();
});

test('a caller needs the scope, of several any one, and none without a principal has it', () => {
  expect(refusalOf(callers({ scope: 'agents:read' }), 'gateway', {})).toBeUndefined();
  expect(refusalOf(callers({ scope: 'agents:write' }), 'gateway', {})).toBe('insufficient_scope');
  expect(refusalOf(callers({ scope: ['agents:write', 'agents:read'] }), 'gateway', {})).toBeUndefined();
  expect(refusalOf(callers({ scope: ['agents:write', 'agents:chat'] }), 'gateway', {})).toBe('insufficient_scope');
  expect(refusalOf(callers({ scope: [] }), 'gateway', {})).toBe('insufficient_scope');
  for (const scope of ['agents:read', ['agents:read']] as const)
    expect(refusalOf(callers({ scope }), 'gateway')).toBe('insufficient_scope');
});

test('a caller with an agent token is let in only where the policy names such tokens', () => {
  const ofAgent = { agentId: 'agt_a' };
  expect(refusalOf(callers({ scope: 'agents:read' }), 'gateway', ofAgent)).toBe('wrong_audience');
  expect(refusalOf(callers({ scope: 'agents:read', agentTokens: true }), 'gateway', ofAgent)).toBeUndefined();
});

test('a policy for administrators needs the flag of the credential', () => {
  expect(refusalOf(callers({ admin: true }), 'gateway', {})).toBe('admin_required');
  expect(refusalOf(callers({ admin: true }), 'gateway')).toBe('admin_required');
  expect(refusalOf(callers({ admin: true }), 'gateway', { admin: true })).toBeUndefined();
});
