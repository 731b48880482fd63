import type { Catalog, DataSourceConnection, RoleGate } from '@agent-service/business-data';
import { isoTime } from '@agent-service/store';
import { addressOf } from '../place.ts';
import type { DataSourceRow } from '../store/data-sources.ts';

/** What an operator may see of a data source: everything but its password. */
export function toDataSource(row: DataSourceRow, place: DataSourceConnection) {
  return { ...toUnopened(row), ...addressOf(place), tls: tlsOf(new URL(place.url).searchParams.get('sslmode'), place.ca) };
}

/** What can be said without opening what is sealed. */
export const toUnopened = ({ organizationId, environment, version, createdAt, updatedAt }: DataSourceRow) => ({
  organizationId,
  environment,
  host: '',
  port: 0,
  database: '',
  user: '',
  tls: '',
  version,
  createdAt: isoTime(createdAt),
  updatedAt: isoTime(updatedAt),
});

function tlsOf(mode: string | null, ca: string): string {
  if (ca !== '') return mode === 'verify-ca' ? mode : 'verify';
  if (mode === null || mode === 'disable') return 'off';
  return mode === 'require' ? 'require' : 'verify';
}

export const toRoleGate = ({ isActive, reason }: RoleGate) => ({ active: isActive, reason });

/** As a data scope names them. */
export const tableNames = ({ defaultSchema, tables }: Catalog): string[] =>
  tables.map(({ schema, name }) => (schema === defaultSchema ? name : `${schema}.${name}`)).sort();
