import { hash } from 'node:crypto';
import { type IdempotencyKey, type Principal, ServiceError } from '@agent-service/contracts';

const printable = /^[\x20-\x7e]{1,255}$/;

/** Two requests are the same one if tenant, credential (of an end user the token), method, path and the caller's key are; then the body must be the same too. */
export function idempotencyKey(
  header: string | undefined,
  principal: Principal,
  method: string,
  path: string,
  body: unknown,
): IdempotencyKey | undefined {
  if (header === undefined) return undefined;
  if (!printable.test(header))
    throw new ServiceError('invalid_request', {
      message: 'Idempotency-Key must have 1 to 255 printable ASCII characters.',
      param: 'Idempotency-Key',
    });
  const { organizationId, environment, credentialId, tokenId } = principal;
  return {
    scope: [organizationId, environment, tokenId || credentialId, method, path, header].join(' '),
    fingerprint: hash('sha256', canonicalJson(body), 'base64url'),
  };
}

/** One text for one value, whatever the order in which its fields were written. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => (isPlainObject(inner) ? sorted(inner) : inner)) ?? '';
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function sorted(object: Record<string, unknown>): Record<string, unknown> {
  const copy: Record<string, unknown> = Object.create(null);
  for (const key of Object.keys(object).sort()) copy[key] = object[key];
  return copy;
}
