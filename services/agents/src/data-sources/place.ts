import type { DataSourceSettings } from '@agent-service/business-data';

const defaultPort = 5432;

/** Where a database is, and how to get in. */
export interface Place {
  readonly url: string;
  /** In PEM; empty for the authorities that everybody knows. */
  readonly ca: string;
  /** The operator has allowed an account that can do more to its server than read and write data. */
  readonly allowSuperuser: boolean;
}

/** As the driver is told; an authority of one's own is named to be looked at. */
export const connectionOf = ({ url, ca, allowSuperuser }: Place): DataSourceSettings => ({
  url,
  refuseSuperuser: !allowSuperuser,
  ...(ca !== '' && { tls: { mode: 'verify', ca } }),
});

/** The server and the account that the URL names. */
export function addressOf({ url }: Place) {
  const { hostname, port, pathname, username, searchParams } = new URL(url);
  return {
    host: searchParams.get('host') ?? hostname,
    port: Number(port || defaultPort),
    database: decodeURIComponent(pathname.slice(1)),
    user: decodeURIComponent(username),
  };
}

export type Distance = 'none' | 'another port' | 'elsewhere';

export function distanceOf(one: Place, other: Place): Distance {
  const [a, b] = [addressOf(one), addressOf(other)];
  if (a.host !== b.host || a.database !== b.database || a.user !== b.user) return 'elsewhere';
  return a.port === b.port ? 'none' : 'another port';
}
