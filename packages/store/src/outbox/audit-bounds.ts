/** In bytes of JSON, so that a page or batch of entries fits into one call. */
export const maxChangesLength = 16_384;

/** Room for the marker beside the beginning of a cut value. */
const markerBytes = 96;
/** Fields with a smaller share are replaced as a whole. */
const smallestShare = 200;
const deepest = 8;

const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

/**
 * The JSON of an entry's changes within the limit. A value that is too large is replaced by
 * `{ truncated: true, bytes, items | keys | characters, shown }`: its size and its beginning.
 */
export function boundChanges(changes: Readonly<Record<string, unknown>>, limit = maxChangesLength): string {
  const whole = JSON.stringify(changes);
  if (Buffer.byteLength(whole) <= limit) return whole;
  return JSON.stringify(cutFields(changes, limit, 0));
}

/** As `boundChanges`, for changes that are JSON already; JSON within the limit is returned unchanged. */
export function boundChangesJson(changesJson: string, limit = maxChangesLength): string {
  if (Buffer.byteLength(changesJson) <= limit) return changesJson;
  const changes: unknown = JSON.parse(changesJson);
  return JSON.stringify(cut(changes, limit, 0));
}

/** Keeps small fields whole; large fields share the remaining bytes. */
function cutFields(fields: Readonly<Record<string, unknown>>, limit: number, depth: number): Record<string, unknown> {
  const sizes = Object.entries(fields).map(([name, value]) => ({ name, value, size: sizeOf(value) + sizeOf(name) + 2 }));
  const bounded = new Map<string, unknown>();
  let left = limit - 2;
  let open = sizes.length;
  for (const { name, value, size } of sizes.toSorted((a, b) => a.size - b.size)) {
    const share = Math.floor(left / open);
    open -= 1;
    const own = size <= share ? value : cut(value, share - sizeOf(name) - 2, depth + 1);
    const took = size <= share ? size : sizeOf(own) + sizeOf(name) + 2;
    if (took > left) continue;
    bounded.set(name, own);
    left -= took;
  }
  return Object.fromEntries(sizes.filter(({ name }) => bounded.has(name)).map(({ name }) => [name, bounded.get(name)]));
}

function cut(value: unknown, limit: number, depth: number): unknown {
  if (sizeOf(value) <= limit) return value;
  const room = limit - markerBytes;
  if (typeof value === 'string') return marked(value, { characters: value.length }, cutText(value, room));
  if (Array.isArray(value)) return marked(value, { items: value.length }, leading(value, room));
  if (typeof value !== 'object' || value === null) return marked(value, {}, undefined);
  const keys = Object.keys(value).length;
  const isDeep = depth >= deepest || limit / Math.max(1, keys) < smallestShare;
  return isDeep ? marked(value, { keys }, undefined) : cutFields(value as Record<string, unknown>, limit, depth);
}

const marked = (value: unknown, count: Readonly<Record<string, number>>, beginning: unknown) => ({
  truncated: true,
  bytes: sizeOf(value),
  ...count,
  ...(beginning !== undefined && { shown: beginning }),
});

/** The first items, as many as fit. */
function leading(items: readonly unknown[], room: number): unknown[] {
  const beginning: unknown[] = [];
  let left = room - 2;
  for (const item of items) {
    left -= sizeOf(item) + 1;
    if (left < 0) break;
    beginning.push(item);
  }
  return beginning;
}

/** The beginning of a text, in at most this many bytes of JSON; no character is cut in half. */
function cutText(text: string, room: number): string {
  let end = Math.max(0, Math.min(text.length, room));
  while (end > 0 && sizeOf(text.slice(0, end)) > room) end = Math.floor(end * 0.8);
  const isHalf = /[\uD800-\uDBFF]/.test(text.charAt(end - 1));
  return text.slice(0, isHalf ? end - 1 : end);
}
