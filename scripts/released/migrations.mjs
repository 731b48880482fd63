// Checks migrations that were not released yet: processes of the release before work beside them, so a step only adds, and takes no lock for long.

import { createHash } from 'node:crypto';
import { loadModule, parseSync } from 'libpg-query';

await loadModule();

/** Identifies a step: a released one never changes, because databases exist that have run it. */
export function fingerprintOf({ statements, preparation = [] }) {
  const text = [...preparation, ...statements].join(';\n');
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** Findings over the steps of one schema; `released` has the fingerprint of each released step by its name. */
export function checkMigrations(schema, migrations, released) {
  const byName = new Map(migrations.map((migration) => [migration.name, migration]));
  const changed = Object.entries(released).flatMap(([name, fingerprint]) => {
    const migration = byName.get(name);
    if (migration === undefined) return [`${schema} ${name}: a released migration was removed`];
    return fingerprintOf(migration) === fingerprint ? [] : [`${schema} ${name}: a released migration was changed`];
  });
  const added = migrations.filter(({ name }) => !Object.hasOwn(released, name));
  return [...changed, ...added.flatMap((migration) => checkStep(migration).map((finding) => `${schema} ${migration.name}: ${finding}`))];
}

/** Findings over one new step. */
export function checkStep({ statements, preparation = [], contracts }) {
  const context = { created: new Set(), contracts: contracts !== undefined };
  const prepared = preparation.flatMap((text) => nodesOf(text).flatMap((node) => checkNode(node, { ...context, isPreparation: true })));
  return [...prepared, ...statements.flatMap((text) => nodesOf(text).flatMap((node) => checkNode(node, context)))];
}

function nodesOf(text) {
  const { stmts = [] } = parseSync(text);
  return stmts.map(({ stmt }) => Object.entries(stmt)[0]);
}

/** Each kind of statement that a step may have. All others are refused. */
const rules = {
  CreateStmt: ({ relation }, { created }) => {
    created.add(relation.relname);
    return [];
  },
  CreateFunctionStmt: () => [],
  CreateEnumStmt: () => [],
  CreateSeqStmt: () => [],
  CommentStmt: () => [],
  GrantStmt: () => [],
  CreateTrigStmt: ({ relation }, { created }) => ifOld(created, relation, 'a trigger runs for processes that do not expect it'),
  IndexStmt: ({ relation, concurrent, idxname }, { created, isPreparation }) => {
    if (created.has(relation.relname) || (concurrent && isPreparation)) return [];
    return [`the index ${idxname} blocks writers of ${relation.relname} while it is built: create it concurrently, in "preparation"`];
  },
  AlterTableStmt: ({ relation, cmds }, context) =>
    context.created.has(relation.relname)
      ? []
      : cmds.flatMap(({ AlterTableCmd: command }) => checkAlter(relation.relname, command, context)),
  DropStmt: ({ removeType, objects }, { contracts }) =>
    contracts || removeType === 'OBJECT_INDEX'
      ? []
      : [`drops ${nameOf(objects[0])}, which processes of the release before use: say in "contracts" why none does`],
  RenameStmt: ({ relation }, { created }) => ifOld(created, relation, 'a new name is unknown to processes of the release before'),
  InsertStmt: ({ relation, selectStmt }, { created }) =>
    selectStmt?.SelectStmt.fromClause === undefined
      ? []
      : ifOld(created, relation, 'rows are copied in one statement: copy them in a sweep'),
  UpdateStmt: ({ relation }, { created }) => ifOld(created, relation, 'all rows are changed in one transaction: change them in a sweep'),
  DeleteStmt: ({ relation }, { created }) => ifOld(created, relation, 'rows are removed in one transaction: remove them in a sweep'),
};

function checkNode([kind, node], context) {
  const rule = rules[kind];
  return rule ? rule(node, context) : [`${kind} is not allowed in a migration`];
}

const ifOld = (created, { relname }, finding) => (created.has(relname) ? [] : [`${relname}: ${finding}`]);
const nameOf = (object) => object.List?.items.map(({ String: part }) => part.sval).join('.') ?? object.TypeName?.names.at(-1)?.String.sval;

function checkAlter(table, { subtype, name, def }, { contracts, isPreparation }) {
  switch (subtype) {
    case 'AT_AddColumn':
      return checkColumn(table, def.ColumnDef);
    case 'AT_ColumnDefault':
    case 'AT_SetStatistics':
    case 'AT_SetRelOptions':
    case 'AT_DropNotNull':
      return [];
    case 'AT_AddConstraint':
      return checkConstraint(table, def.Constraint);
    case 'AT_ValidateConstraint':
      return isPreparation ? [] : [`${table}: validates ${name} within its transaction: validate it in "preparation"`];
    case 'AT_DropColumn':
    case 'AT_DropConstraint':
      return contracts ? [] : [`${table}: drops ${name}, which processes of the release before use: say in "contracts" why none does`];
    default:
      return [`${table}: ${subtype} may rewrite or lock the table for long`];
  }
}

/** A constant default is stored once for all rows that exist. */
function checkColumn(table, { colname, constraints = [] }) {
  const kinds = constraints.map(({ Constraint }) => Constraint);
  const initial = kinds.find(({ contype }) => contype === 'CONSTR_DEFAULT')?.raw_expr;
  const findings = [];
  if (kinds.some(({ contype }) => contype === 'CONSTR_NOTNULL') && initial === undefined)
    findings.push('is not null without a default, which processes of the release before do not write');
  if (initial !== undefined && !isConstant(initial)) findings.push('has a default that rewrites the table');
  for (const { contype } of kinds) {
    if (['CONSTR_NULL', 'CONSTR_NOTNULL', 'CONSTR_DEFAULT'].includes(contype)) continue;
    findings.push(
      `has ${contype}, which reads every row under a lock: add it "not valid", and validate it in "preparation" of a later step`,
    );
  }
  return findings.map((finding) => `${table}.${colname} ${finding}`);
}

/** now() is the time of the statement, the same for all rows. */
function isConstant(expression) {
  const [kind, node] = Object.entries(expression)[0];
  if (kind === 'TypeCast') return isConstant(node.arg);
  return kind === 'A_Const' || kind === 'SQLValueFunction' || (kind === 'FuncCall' && node.funcname.at(-1).String.sval === 'now');
}

function checkConstraint(table, { contype, conname, skip_validation: isNotValid, indexname }) {
  if (isNotValid || indexname !== undefined) return [];
  return [`${table}: the constraint ${conname ?? contype} reads every row under a lock: add it "not valid", or "using index"`];
}
