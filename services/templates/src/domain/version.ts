/** Three numbers with dots between them and nothing else. */
export const versionPattern = /^(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})$/;

/** Whether a version came after another. */
export function isNewer(version: string, than: string): boolean {
  const [one, other] = [numbers(version), numbers(than)];
  const at = one.findIndex((number, index) => number !== other[index]);
  return at >= 0 && (one[at] as number) > (other[at] ?? 0);
}

const numbers = (version: string): number[] => version.split('.').map(Number);
