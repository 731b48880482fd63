/** A Redis or Valkey server on this machine, with what its environment needs. */
export interface RedisBinary {
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
}
