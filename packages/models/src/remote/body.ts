import type { Readable } from 'node:stream';
import { ModelFailure } from './failure.ts';

type Chunks = AsyncIterator<Uint8Array>;

/** The whole body; one that is larger ends the connection. */
export async function readAll(body: Readable, limit: number): Promise<Buffer<ArrayBuffer>> {
  const { chunks, size } = await readChunks(body, limit);
  if (size > limit) throw new ModelFailure('too_large');
  return Buffer.concat(chunks);
}

/** What of the body comes first; the connection is ended where there is more. */
export async function readStart(body: Readable, limit: number): Promise<Buffer<ArrayBuffer>> {
  const { chunks } = await readChunks(body, limit);
  return Buffer.concat(chunks).subarray(0, limit);
}

async function readChunks(body: Readable, limit: number): Promise<{ chunks: Uint8Array[]; size: number }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > limit) break;
  }
  return { chunks, size };
}

/** The body as it comes; one that grows larger fails and ends the connection, and so does a reader that goes away. */
export function streamAll(body: Readable, limit: number): ReadableStream<Uint8Array> {
  const chunks: Chunks = body[Symbol.asyncIterator]();
  let size = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) return controller.close();
      size += value.length;
      if (size > limit) {
        await chunks.return?.();
        throw new ModelFailure('too_large');
      }
      controller.enqueue(value);
    },
    async cancel() {
      await chunks.return?.();
    },
  });
}
