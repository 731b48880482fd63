export { type BusinessData, createBusinessData, type QueryResult } from './business-data.ts';
export {
  createDataSource,
  type DataSource,
  type DataSourceConnection,
  type DataSourceSettings,
  openDataSources,
  type RoleGate,
  toDataSourceSettings,
} from './data-source.ts';
export type { ConnectionSettings } from './database/connection.ts';
export { acquirePermit } from './database/connection-pool.ts';
export { describeData } from './describe-data.ts';
export { DataFailure } from './failure.ts';
export { createResultBudget, type ResultBudget } from './result-budget.ts';
export { dropScopedRoles } from './roles/drop-roles.ts';
export { type Catalog, type CatalogColumn, type CatalogTable, maxCommentLength } from './scope/catalog.ts';
export { type DataScope, resolveScope } from './scope/resolve-scope.ts';
export { nameInScope, suggestNames } from './scope/suggest-names.ts';
export { createStatementGate, openStatementGate, type StatementGate, type TenantGate } from './threads/statement-gate.ts';
export { createTools, invalidInput, type ToolDefinition, type ToolResult, toolDefinitions, toolRefusal } from './tools.ts';
