/** What a provider's Retry-After says, as seconds or as a date; undefined if it says nothing that can be understood. */
export function retryAfterMs(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const inMs = Number(headers['retry-after-ms'] || Number.NaN);
  if (Number.isFinite(inMs)) return Math.max(0, inMs);
  const given = headers['retry-after']?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(given)) return Number(given) * 1000;
  const date = Date.parse(given);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
