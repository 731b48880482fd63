import type { DataSourceConnection } from '@agent-service/business-data';

const defaultPort = 5432;

/** The server and the account that the URL names. */
export function addressOf({ url }: DataSourceConnection) {
  const { hostname, port, pathname, username, searchParams } = new URL(url);
  return {
    host: searchParams.get('host') ?? hostname,
    port: Number(port || defaultPort),
    database: decodeURIComponent(pathname.slice(1)),
    user: decodeURIComponent(username),
  };
}

export type Distance = 'none' | 'another port' | 'elsewhere';

export function distanceOf(one: DataSourceConnection, other: DataSourceConnection): Distance {
  const [a, b] = [addressOf(one), addressOf(other)];
  if (a.host !== b.host || a.database !== b.database || a.user !== b.user) return 'elsewhere';
  return a.port === b.port ? 'none' : 'another port';
}
