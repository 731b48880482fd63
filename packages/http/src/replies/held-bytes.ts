/** Far more than honest clients of one organization need at once. */
const maxBytesPerOrganization = 64 * 1024 * 1024;

/**
 * Counts the memory that requests of each organization hold: bodies that are arriving, and answers that are not read yet. So an
 * organization whose clients send or read slowly cannot take the memory of all.
 */
export class HeldBytes {
  readonly #max: number;
  readonly #held = new Map<string, number>();

  constructor(max: number = maxBytesPerOrganization) {
    this.#max = max;
  }

  /** True if the organization may begin no other request. */
  isFull(organizationId: string): boolean {
    return (this.#held.get(organizationId) ?? 0) >= this.#max;
  }

  /** Counts the bytes until the returned function is called. */
  hold(organizationId: string, bytes: number): () => void {
    this.#held.set(organizationId, (this.#held.get(organizationId) ?? 0) + bytes);
    return () => {
      const left = (this.#held.get(organizationId) ?? 0) - bytes;
      if (left > 0) this.#held.set(organizationId, left);
      else this.#held.delete(organizationId);
    };
  }
}
