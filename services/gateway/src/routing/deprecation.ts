/** When an operation was or will be replaced, and what to use instead. docs/versioning.md says how long it stays. */
export interface Deprecation {
  /** The day from which callers should use something else, as 2026-12-01. */
  readonly since: string;
  /** The first day on which the operation may be gone. */
  readonly sunset?: string;
  /** A document that says what to do. */
  readonly link: string;
}

const instantOf = (day: string) => Date.parse(`${day}T00:00:00Z`);

/** The headers of every reply of the operation, names and values in turn: Deprecation (RFC 9745), Sunset (RFC 8594) and Link. */
export function deprecationHeaders({ since, sunset, link }: Deprecation): readonly string[] {
  const [from, until] = [instantOf(since), sunset === undefined ? undefined : instantOf(sunset)];
  if (Number.isNaN(from) || (until !== undefined && !(until >= from)))
    throw new RangeError(`A deprecation since ${since} cannot end on ${sunset}: days are written 2026-12-01, and the sunset follows.`);
  const links = [
    `<${link}>; rel="deprecation"; type="text/html"`,
    ...(until === undefined ? [] : [`<${link}>; rel="sunset"; type="text/html"`]),
  ];
  return [
    ...['Deprecation', `@${from / 1_000}`],
    ...(until === undefined ? [] : ['Sunset', new Date(until).toUTCString()]),
    ...['Link', links.join(', ')],
  ];
}
