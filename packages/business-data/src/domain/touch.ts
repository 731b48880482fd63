const mostKept = 200;

/** Makes it the newest; the oldest beyond the limit goes. */
export function touch<K, V>(map: Map<K, V>, key: K, value: V, most = mostKept): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}
