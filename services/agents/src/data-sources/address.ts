import type { DataSourceConnection } from '@agent-service/business-data';

const defaultPort = 5432;

/** The server and the account that the URL names. */
export function addressOf({ url }: Pick<DataSourceConnection, 'url'>) {
  const { hostname, port, pathname, username, searchParams } = new URL(url);
  return {
    host: searchParams.get('host') ?? hostname,
    port: Number(port || defaultPort),
    database: decodeURIComponent(pathname.slice(1)),
    user: decodeURIComponent(username),
  };
}

export type AddressDifference = 'none' | 'port' | 'server';

export function compareAddresses(one: DataSourceConnection, other: DataSourceConnection): AddressDifference {
  const [a, b] = [addressOf(one), addressOf(other)];
  if (a.host !== b.host || a.database !== b.database || a.user !== b.user) return 'server';
  return a.port === b.port ? 'none' : 'port';
}
