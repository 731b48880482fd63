import type { ConnectionSettings } from '@agent-service/business-data';
import type { Tenant } from '../domain/tenant.ts';

/** Where a database is, and how to get in. */
export interface Place {
  readonly url: string;
  /** In PEM; empty for the authorities that everybody knows. */
  readonly ca: string;
}

/** As the driver is told; an authority of one's own is named to be looked at. */
export const connectionOf = ({ url, ca }: Place): ConnectionSettings => (ca === '' ? { url } : { url, tls: { mode: 'verify', ca } });

/** What a tenant's open source and its roles go by. */
export const keyOf = ({ organizationId, environment }: Tenant): string => `${organizationId} ${environment}`;

export type Distance = 'none' | 'another port' | 'elsewhere';

/** By the names in the URL. */
export function distanceOf(one: Place, other: Place): Distance {
  const [a, b] = [new URL(one.url), new URL(other.url)];
  const namesOf = ({ hostname, pathname, username, searchParams }: URL) =>
    JSON.stringify([searchParams.get('host') ?? hostname, pathname, username]);
  if (namesOf(a) !== namesOf(b)) return 'elsewhere';
  return portOf(a) === portOf(b) ? 'none' : 'another port';
}

const portOf = ({ port }: URL): string => port || '5432';
