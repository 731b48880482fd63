import { requirePrincipal } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../routing/route.ts';
import { cursor, limit, listMeta, pageRequest, toListMeta } from '../schemas/list-query.ts';

const column = z
  .strictObject({
    name: z.string().meta({ example: 'total' }),
    type: z.string().meta({ description: 'As PostgreSQL writes it.', example: 'numeric(12,2)' }),
    nullable: z.boolean().meta({ example: false }),
    primary_key: z.boolean().meta({ example: false }),
    comment: z.string().meta({ description: 'Its first 500 characters.', example: 'With tax' }),
  })
  .meta({ id: 'DataSourceColumn' });

const table = z
  .strictObject({
    name: z.string().meta({ description: 'As a `data_scope` names it.', example: 'orders' }),
    schema: z.string().meta({ example: 'public' }),
    kind: z.enum(['table', 'view']).meta({ example: 'table' }),
    comment: z.string().meta({ description: 'Its first 500 characters.', example: '' }),
    row_estimate: z.int().nullable().meta({ description: 'The planner’s estimate; null where there is none.', example: 1200 }),
    columns: z.array(column),
  })
  .meta({ id: 'DataSourceTable' });

const dataSource = z
  .strictObject({
    environment: z.enum(['live', 'test']).meta({ example: 'live' }),
    status: z.enum(['connected', 'unreadable', 'none']).meta({ description: '`none`: no database is connected.', example: 'connected' }),
    reason: z.string().nullable().meta({ description: 'Why it is unreadable.', example: null }),
    role_gate: z
      .strictObject({ active: z.boolean().meta({ example: true }), reason: z.string().meta({ example: '' }) })
      .meta({ id: 'RoleGate' })
      .nullable()
      .meta({
        description: 'Says if statements run under a database role that holds only their scope, and why not, or for which tables not.',
      }),
    tables: z.array(table),
  })
  .meta({ id: 'DataSource' });

type DataSource = z.output<typeof dataSource>;

export const getDataSource = route({
  method: 'GET',
  path: '/v1/data-source',
  operationId: 'getDataSource',
  summary: 'View the connected database: its state, and its tables with their columns by name',
  description: `The database of the caller’s environment. A page has fewer tables than \`limit\` where their columns fill a megabyte; of more than 5,000 tables
the first 5,000 by schema and name are known. How the database is reached is never shown.`,
  tag: 'Data source',
  auth: 'token',
  scope: 'agents:write',
  cost: 'read',
  extension: true,
  query: z.strictObject({ limit: limit(50, 200), cursor }),
  response: z.strictObject({ data: dataSource, meta: listMeta }),
  errors: ['invalid_cursor'],
  async handler({ query, requestId, call }, { agents }) {
    const { status, reason, roleGate, tables, page } = await agents.describeDataSource({ page: pageRequest(query) });
    const data = {
      environment: requirePrincipal(call).environment,
      status: status as DataSource['status'],
      reason: reason || null,
      role_gate: roleGate,
      tables: tables.map(({ name, schema, kind, comment, rowEstimate, columns }) => ({
        name,
        schema,
        kind: kind as 'table' | 'view',
        comment,
        row_estimate: rowEstimate === undefined ? null : Number(rowEstimate),
        columns: columns.map(({ primaryKey, ...rest }) => ({
          name: rest.name,
          type: rest.type,
          nullable: rest.nullable,
          primary_key: primaryKey,
          comment: rest.comment,
        })),
      })),
    };
    return { data, meta: toListMeta(page, requestId) };
  },
});
