export { type BusinessData, type BusinessDataOptions, createBusinessData, type QueryOptions, type QueryResult } from './business-data.ts';
export type { ChangeRequest, ChangeRow } from './change.ts';
export {
  createDataSource,
  type DataSource,
  type DataSourceConnection,
  type DataSourceSettings,
  type DataSources,
  openDataSource,
  openDataSources,
  type RoleGate,
  toDataSourceSettings,
} from './data-source.ts';
export type { ConnectionSettings, TlsSettings } from './database/connection.ts';
export { acquirePermit } from './database/connection-pool.ts';
export { describeData } from './describe-data.ts';
export { DataFailure, type FailureKind } from './failure.ts';
export { createResultBudget, type ResultBudget } from './result-budget.ts';
export type { Value, ValueType } from './results.ts';
export { type DroppedRoles, dropScopedRoles } from './roles/drop-roles.ts';
export { type Catalog, type CatalogColumn, type CatalogTable, maxCommentLength } from './scope/catalog.ts';
export { type DataScope, type Resolution, resolveScope } from './scope/resolve-scope.ts';
export type { ResolvedScope, ScopedTable } from './scope/scope.ts';
export { nameInScope, suggestNames } from './scope/suggest-names.ts';
export { createStatementGate, openStatementGate, type StatementGate, type TenantGate } from './threads/statement-gate.ts';
export { createTools, type DataTool, type ToolAnswer, type ToolDefinition, toolDefinitions } from './tools.ts';
