import { createHmac } from 'node:crypto';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Mac } from './mac.ts';

test('it is HMAC-SHA-256, for keys and messages of any length', () => {
  const bytes = fc.uint8Array({ maxLength: 300 });
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 200 }),
      fc.array(fc.tuple(fc.string({ unit: 'grapheme' }), bytes)),
      (key, messages) => {
        const mac = new Mac(key);
        for (const [text, body] of messages) {
          expect(mac.of(text, body)).toBe(createHmac('sha256', key).update(text).update(body).digest('base64url'));
          expect(mac.of(text)).toBe(createHmac('sha256', key).update(text).digest('base64url'));
        }
      },
    ),
  );
});
