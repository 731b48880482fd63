import { queryOptions } from '@tanstack/react-query';
import { type Environment, portal } from '../../api/client.ts';

/** How a data source is reached. The address is known of one that was connected here, and not of one that an operator connected. */
export interface Connection {
  connected_by: 'user' | 'operator';
  host: string | null;
  port: number | null;
  database: string | null;
  user: string | null;
  tls: string | null;
  updated_at: string;
}

export interface TestedConnection {
  tables: number;
  role_gate: { active: boolean; reason: string };
  server_version: string;
  duration_ms: number;
}

export interface ConnectionInput {
  url: string;
  ca_certificate: string;
}

export const connectionQuery = (environment: Environment) =>
  queryOptions({
    queryKey: [environment, 'data-source', 'connection'],
    queryFn: async () =>
      (await portal<{ data: { data_source: Connection | null } }>('GET', `/${environment}/data-source`)).data.data_source,
  });

export const connect = (environment: Environment, input: ConnectionInput) => portal<object>('PUT', `/${environment}/data-source`, input);

/** Without an input the connected database is tested. */
export const testConnection = async (environment: Environment, input?: ConnectionInput): Promise<TestedConnection> =>
  (await portal<{ data: TestedConnection }>('POST', `/${environment}/data-source/test`, input ?? {})).data;

export const disconnect = (environment: Environment) => portal('DELETE', `/${environment}/data-source`);

export interface Address {
  host: string;
  port: string;
  database: string;
  user: string;
  password: string;
  sslmode: string;
}

/** The URL of an address, each part of which may have any character. */
export function urlOf({ host, port, database, user, password, sslmode }: Address): string {
  const name = host.includes(':') ? `[${host.replace(/^\[|\]$/g, '')}]` : encodeURIComponent(host);
  const account = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
  return `postgres://${account}@${name}:${encodeURIComponent(port)}/${encodeURIComponent(database)}?sslmode=${sslmode}`;
}

/** The ways to encrypt a connection, the safest first, each with its names in a URL and in the service. */
export const encryptions = [
  { sslmode: 'verify-full', tls: 'verify', label: 'TLS, certificate and host name verified' },
  { sslmode: 'verify-ca', tls: 'verify-ca', label: 'TLS, certificate verified' },
  { sslmode: 'require', tls: 'require', label: 'TLS, certificate not verified' },
  { sslmode: 'disable', tls: 'off', label: 'None' },
] as const;

export const encryptionOf = (connection: Connection | null | undefined) => encryptions.find(({ tls }) => tls === connection?.tls);
