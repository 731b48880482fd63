export { type BusinessData, type BusinessDataOptions, createBusinessData, type QueryOptions, type QueryResult } from './business-data.ts';
export type { ConnectionSettings, TlsSettings } from './database/connection.ts';
export { acquirePermit, DataFailure, type FailureKind } from './database/failure.ts';
export type { Catalog, CatalogColumn, CatalogTable } from './domain/catalog.ts';
export type { ChangeRequest, ChangeRow } from './domain/change.ts';
export type { Resolution, ResolvedScope, ScopedTable } from './domain/scope.ts';
export type { Value, ValueType } from './domain/values.ts';
export { openStatementGate } from './gate/open-statement-gate.ts';
export { createStatementGate, type StatementGate, type TenantGate } from './gate/statement-gate.ts';
export { type Dropped, dropScopedRoles } from './roles/drop-roles.ts';
export { type DataScope, resolveScope } from './scope.ts';
export {
  createDataSource,
  type DataSource,
  type DataSourceConnection,
  type DataSourceSettings,
  openDataSource,
  type RoleGate,
  toDataSourceSettings,
} from './source/data-source.ts';
export { type DataSources, openDataSources } from './source/data-sources.ts';
export { createTools, type DataTool, type ToolAnswer, type ToolDefinition, toolDefinitions } from './tools.ts';
