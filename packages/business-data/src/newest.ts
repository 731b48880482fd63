const usualMax = 200;

/** Sets an entry as the newest one of the map, and removes the oldest one beyond `max`. */
export function setNewest<K, V>(map: Map<K, V>, key: K, value: V, max = usualMax): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}
