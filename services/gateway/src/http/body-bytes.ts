import type { IncomingMessage } from 'node:http';
import { ServiceError } from '@agent-service/contracts';
import type { BodyLimits } from './body-limits.ts';

/** Each piece costs as much as a few hundred bytes, whatever its size: a chunked body may come in pieces of one byte. */
const maxPieces = 10_000;

/** The body as it was sent. It stops reading at the limit; what is left of a refused body is for whoever answers. */
export function readBytes(request: IncomingMessage, { bytes, withinMs }: Omit<BodyLimits, 'values'>): Promise<Buffer> {
  const inTooManyPieces = () => new ServiceError('invalid_request', { message: `Send the body in at most ${maxPieces} chunks.` });
  const tooLarge = () => new ServiceError('payload_too_large', { message: `The body is larger than ${bytes} bytes.` });
  if (Number(request.headers['content-length'] ?? 0) > bytes) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > bytes) settle(() => reject(tooLarge()));
      else if (chunks.push(chunk) > maxPieces) settle(() => reject(inTooManyPieces()));
    };
    const onEnd = () => settle(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    const onClose = () => settle(() => reject(new ServiceError('cancelled')));
    const timer = setTimeout(() => settle(() => reject(new ServiceError('request_timeout'))), withinMs);
    const settle = (outcome: () => void) => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('close', onClose).pause();
      outcome();
    };
    request.on('data', onData).on('end', onEnd).on('close', onClose);
    // An error is always followed by 'close'.
    request.on('error', () => undefined);
  });
}
