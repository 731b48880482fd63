import { JoinedBytes } from './joined-bytes.ts';

/** A `fetch` that reads each answer to its end, and rejects where it has more than this many bytes after it was decompressed. */
export const limitedFetch =
  (maxBytes: number) =>
  async (url: string, options?: object): Promise<Response> => {
    const response = await fetch(url, options);
    if (!response.body) return response;
    const body = new JoinedBytes();
    // Leaving the loop by an error ends the connection.
    for await (const chunk of response.body) {
      if (body.size + chunk.length > maxBytes) throw new RangeError(`the answer of ${new URL(url).host} is larger than ${maxBytes} bytes`);
      body.add(chunk);
    }
    return new Response(body.all(), response);
  };
