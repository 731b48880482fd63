export type Grant = { granted: string[] } | { refused: string[] };

const words = (requested: string) => [...new Set(requested.split(' ').filter(Boolean))];

/** What a token gets: all that its credential has, or exactly what was asked for. Nothing is dropped silently. */
export function grantScopes(available: readonly string[], requested: string): Grant {
  const wanted = words(requested);
  if (wanted.length === 0) return { granted: [...available] };
  const refused = wanted.filter((scope) => !available.includes(scope));
  return refused.length > 0 ? { refused } : { granted: wanted };
}
