/** How drivers call what a data source calls otherwise, or does not know. */
const modes: Readonly<Record<string, string | undefined>> = {
  disable: 'disable',
  require: 'require',
  'no-verify': 'require',
  'verify-ca': 'verify-ca',
  'verify-full': 'verify-full',
};

/** An administrator's URL as one of a data source: of its parameters those that say where the server is and how to speak to it. */
export function sourceUrl(url: string): string {
  const source = new URL(url);
  const [host, mode] = [source.searchParams.get('host'), modes[source.searchParams.get('sslmode') ?? '']];
  source.search = new URLSearchParams({ ...(host !== null && { host }), ...(mode !== undefined && { sslmode: mode }) }).toString();
  return source.href;
}
