import { type AnswerKey, nameOf } from './key.ts';

interface InTheWay extends AnswerKey {
  readonly conversationId: string;
  readonly idempotencyScope: string;
}

/** Splits items so that no two of the first part share an id, a conversation or an Idempotency-Key. */
export function firstOfEach<Item extends InTheWay>(items: readonly Item[]): { first: Item[]; later: Item[] } {
  const taken = new Set<string>();
  const first: Item[] = [];
  const later: Item[] = [];
  for (const item of items) {
    const names = namesOf(item);
    if (names.some((name) => taken.has(name))) later.push(item);
    else first.push(item);
    for (const name of names) taken.add(name);
  }
  return { first, later };
}

function namesOf(item: InTheWay): string[] {
  const names = [`id ${nameOf(item)}`];
  if (item.conversationId !== '') names.push(`conversation ${nameOf({ ...item, id: item.conversationId })}`);
  if (item.idempotencyScope !== '') names.push(`key ${nameOf({ ...item, id: item.idempotencyScope })}`);
  return names;
}
