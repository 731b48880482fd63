const mostKept = 200;

/** Makes it the newest; the oldest beyond the limit goes. */
export function touch<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > mostKept && oldest !== undefined) map.delete(oldest);
}
