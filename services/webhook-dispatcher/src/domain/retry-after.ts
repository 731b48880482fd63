/** What a Retry-After header asks for, in milliseconds; 0 for none or one that can not be read. */
export function retryAfterMs(header: string | undefined, nowMs: number): number {
  const text = header?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  // A date of HTTP begins with the day's name; whatever else Date.parse takes is no date of HTTP.
  if (!/^(mon|tue|wed|thu|fri|sat|sun)/i.test(text)) return 0;
  const at = Date.parse(text);
  return Number.isNaN(at) ? 0 : Math.max(0, at - nowMs);
}
