import { createHmac } from 'node:crypto';

const stepSeconds = 30;
const digits = 6;
/** A code is accepted from one step before to one step after, because clocks of telephones differ. */
const tolerance = 1;

/** The number of the step of 30 seconds that a time is in. */
export const stepAt = (nowMs: number): number => Math.floor(nowMs / 1_000 / stepSeconds);

/** The code of a step (RFC 6238, with SHA-1 as authenticator apps use it). */
export function codeOf(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', secret).update(counter).digest();
  const offset = (mac.at(-1) as number) & 0x0f;
  const number = mac.readUInt32BE(offset) & 0x7fff_ffff;
  return String(number % 10 ** digits).padStart(digits, '0');
}

/** The step that a code belongs to; undefined if it is none of the present ones. */
export function stepOf(secret: Buffer, code: string, nowMs: number): number | undefined {
  const present = stepAt(nowMs);
  for (let step = Math.max(0, present - tolerance); step <= present + tolerance; step += 1) if (codeOf(secret, step) === code) return step;
  return undefined;
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** RFC 4648, without padding. */
export function toBase32(bytes: Uint8Array): string {
  let text = '';
  let rest = 0;
  let bits = 0;
  for (const byte of bytes) {
    rest = ((rest << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet[(rest >> bits) & 31];
    }
  }
  return bits > 0 ? text + alphabet[(rest << (5 - bits)) & 31] : text;
}

/** The text that authenticator apps read from a QR code. Most of them show a plus sign of the issuer as it is, so a space is %20. */
export const otpUri = (secret: string, email: string, organization: string): string =>
  `otpauth://totp/${encodeURIComponent(`${organization}:${email}`)}?secret=${secret}&issuer=${encodeURIComponent(organization)}`;
