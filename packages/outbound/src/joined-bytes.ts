/**
 * Joins the chunks of a remote answer by copying them. A list would take 100 bytes for a chunk of one, and keep the whole read of a socket, up to
 * 64 KB, for each.
 */
export class JoinedBytes {
  #bytes = Buffer.alloc(0);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(chunk: Uint8Array): void {
    const size = this.#size + chunk.length;
    if (size > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(size, 2 * this.#bytes.length));
      larger.set(this.all());
      this.#bytes = larger;
    }
    this.#bytes.set(chunk, this.#size);
    this.#size = size;
  }

  all(): Buffer<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#size);
  }
}
