import type { Environment } from './callers/principal.ts';
import { ServiceError } from './errors/service-error.ts';

const maxIdLength = 128;
const maxItems = 1_000;

export function checkEnvironment(environment: string): Environment {
  if (environment === 'live' || environment === 'test') return environment;
  throw new ServiceError('invalid_request', { message: 'The environment must be live or test.', param: 'environment' });
}

/** PostgreSQL stores no NUL character, and one would fail the whole batch of statements. */
export function checkId(id: string, param: string): string {
  if (id.length > 0 && id.length <= maxIdLength && !id.includes('\0')) return id;
  throw new ServiceError('invalid_request', { message: `${param} must have 1 to ${maxIdLength} characters.`, param });
}

/** A text of this many characters (code points). PostgreSQL stores no NUL character. */
export function checkText(text: string, param: string, { min = 0, max }: { readonly min?: number; readonly max: number }): string {
  const { length } = [...text];
  if (length >= min && length <= max && !text.includes('\0')) return text;
  const bounds = min > 0 ? `${min} to ${max}` : `at most ${max}`;
  throw new ServiceError('invalid_request', { message: `${param} must have ${bounds} characters and no NUL.`, param });
}

/** The tenant that a service or an operator names. */
export const checkTenant = (tenant: { organizationId: string; environment: string } | null) => ({
  organizationId: checkId(tenant?.organizationId ?? '', 'organization_id'),
  environment: checkEnvironment(tenant?.environment ?? ''),
});

/** Bounds the work of one call. */
export function checkItems(items: readonly unknown[], param = 'items'): void {
  if (items.length > maxItems) throw new ServiceError('invalid_request', { message: `At most ${maxItems} items in a call.`, param });
}
