/** A `fetch` that reads each answer to its end, and rejects where it has more than this many bytes after it was decompressed. */
export const limitedFetch =
  (maxBytes: number) =>
  async (url: string, options?: object): Promise<Response> => {
    const response = await fetch(url, options);
    if (!response.body) return response;
    // Copied, because a list of chunks can take far more memory than its bytes.
    const body = Buffer.allocUnsafe(maxBytes);
    let size = 0;
    // Leaving the loop by an error ends the connection.
    for await (const chunk of response.body) {
      if (size + chunk.length > maxBytes) throw new RangeError(`the answer of ${new URL(url).host} is larger than ${maxBytes} bytes`);
      body.set(chunk, size);
      size += chunk.length;
    }
    return new Response(body.subarray(0, size), response);
  };
