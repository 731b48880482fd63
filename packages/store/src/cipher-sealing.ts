export interface KeysAround {
  /** The versions that this process has keys of. */
  readonly configured: readonly number[];
  /** The versions under which something is stored. */
  readonly stored: readonly number[];
  /** Whether every replica has had the time to get the keys that this one has. */
  readonly isSettled: boolean;
}

/**
 * The version to seal under: the newest, but while nobody seals under it yet, the one in use goes on for a while. A replica that
 * does not have the new key yet could not open what was sealed under it.
 */
export function sealingVersion({ configured, stored, isSettled }: KeysAround): number {
  const newest = Math.max(...configured);
  const known = stored.filter((version) => configured.includes(version));
  return isSettled || known.length === 0 || known.includes(newest) ? newest : Math.max(...known);
}
