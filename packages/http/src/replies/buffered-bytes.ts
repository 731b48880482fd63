/** Far more than honest clients of one organization need at once. */
const maxBytesPerOrganization = 64 * 1024 * 1024;

/**
 * Counts the memory that requests of each organization take: bodies that are arriving, and replies that are not read yet. So an
 * organization whose clients send or read slowly cannot take the memory of all.
 */
export class BufferedBytes {
  readonly #max: number;
  readonly #bytes = new Map<string, number>();

  constructor(max: number = maxBytesPerOrganization) {
    this.#max = max;
  }

  /** True if the organization has reached its limit: its further requests are refused. */
  isFull(organizationId: string): boolean {
    return (this.#bytes.get(organizationId) ?? 0) >= this.#max;
  }

  /** Counts the bytes until the returned function is called. */
  add(organizationId: string, bytes: number): () => void {
    this.#bytes.set(organizationId, (this.#bytes.get(organizationId) ?? 0) + bytes);
    return () => {
      const left = (this.#bytes.get(organizationId) ?? 0) - bytes;
      if (left > 0) this.#bytes.set(organizationId, left);
      else this.#bytes.delete(organizationId);
    };
  }
}
