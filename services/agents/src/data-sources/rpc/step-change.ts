import type { RpcOf } from '@agent-service/contracts';
import type { StepChange } from '../store/step-claim.ts';

type Asked = Parameters<RpcOf<'agents', 'authorizeStep'>['handle']>[0];

const longestDescription = 500;
const longestTable = 200;
const longestKeys = 8_000;
const operations: readonly string[] = ['insert', 'update', 'delete'];

/** What is kept of a change: only what can be, and never more than an audit entry should hold. */
export function stepChangeOf({ description, change }: Pick<Asked, 'description' | 'change'>): StepChange {
  const { table = '', operation = '', rows = 0, keysJson = '' } = change ?? {};
  return {
    description: storable(description, longestDescription),
    table: storable(table, longestTable),
    operation: operations.includes(operation) ? operation : '',
    askedRows: Math.max(0, rows),
    keysJson: isKeys(keysJson) ? keysJson : '',
  };
}

const storable = (text: string, longest: number) => text.slice(0, longest).toWellFormed().replaceAll('\0', '\ufffd');

function isKeys(json: string): boolean {
  if (json.length > longestKeys) return false;
  try {
    return Array.isArray(JSON.parse(json));
  } catch {
    return false;
  }
}
