import type pg from 'pg';
import { parseRewritten } from '../../src/gates/parse.ts';
import { fieldsOf, isTree, listOf, namesOf, type Tree, textOf } from '../../src/gates/tree.ts';

/**
 * Compares a statement with the text of a view that PostgreSQL made of it. Returns the calls, fields and casts that PostgreSQL added by its
 * interpretation of names; undefined where PostgreSQL refuses the statement.
 */
export async function addedParts(client: pg.Client, text: string): Promise<string[] | undefined> {
  await client.query('begin');
  try {
    await client.query(`create temp view interpreted as select 1 as one from (${text}) as q`);
    const { rows } = await client.query<{ text: string }>("select pg_get_viewdef('interpreted'::regclass) as text");
    const interpreted = parts(parseRewritten(rows[0]?.text ?? ''));
    const written = parts(parseRewritten(text));
    return [...interpreted].filter((part) => !written.has(part));
  } catch {
    return undefined;
  } finally {
    await client.query('rollback');
  }
}

/** Calls, fields of values, and casts to types that look names up. */
function parts(statement: unknown): Set<string> {
  const names = new Set<string>();
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) node.forEach(visit);
    if (!isTree(node)) return;
    for (const part of [callIn(node), castIn(node), ...fieldsIn(node)]) if (part !== undefined) names.add(part);
    Object.values(node).forEach(visit);
  };
  visit(statement);
  return names;
}

function callIn(node: Tree): string | undefined {
  const call = fieldsOf(node, 'FuncCall');
  return call && `call of ${namesOf(call['funcname'])?.at(-1)}`;
}

function castIn({ typeName }: Tree): string | undefined {
  const type = isTree(typeName) ? namesOf(typeName['names'])?.at(-1) : undefined;
  return type?.startsWith('reg') && type !== 'regconfig' ? `cast to ${type}` : undefined;
}

const fieldsIn = (node: Tree): string[] =>
  listOf(fieldsOf(node, 'A_Indirection')?.['indirection'])
    .filter((step) => fieldsOf(step, 'A_Indices') === undefined)
    .map((step) => `field ${textOf(fieldsOf(step, 'String')?.['sval']) ?? '*'}`);
