import type { IncomingMessage } from 'node:http';
import { ServiceError } from '@agent-service/contracts';

export const maxBodyBytes = 1024 * 1024;

/** The body as it was sent, up to 1 MiB. What is beyond is thrown away as it comes, so that the caller gets to read the answer. */
export function readBytes(request: IncomingMessage): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) return Promise.reject(new ServiceError('payload_too_large'));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBodyBytes) chunks.push(chunk);
      else settle(() => reject(new ServiceError('payload_too_large')));
    };
    const onEnd = () => settle(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    const onClose = () => settle(() => reject(new ServiceError('cancelled')));
    const settle = (outcome: () => void) => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).resume();
      outcome();
    };
    request.on('data', onData).on('end', onEnd).on('close', onClose);
    // An error is always followed by 'close'.
    request.on('error', () => undefined);
  });
}
