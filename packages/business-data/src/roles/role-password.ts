import { createHash, createHmac, pbkdf2, randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify<string, string, number, Buffer>(scrypt);
const stretch = promisify(pbkdf2);

/**
 * A role's password is derived from the URL of the data source: every process derives the same, none stores it, and it cannot be derived
 * without the account's password.
 */
export const rolePassword = async (sourceUrl: string, role: string): Promise<string> =>
  (await derive(sourceUrl, role, 32)).toString('base64url');

const iterations = 4096;

/** The verifier that PostgreSQL stores for a password. Made here, so that the password is in no statement and no log of the data source. */
export async function scramVerifier(password: string): Promise<string> {
  const salt = randomBytes(16);
  const salted = await stretch(password, salt, iterations, 32, 'sha256');
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest();
  const stored = createHash('sha256').update(keyed('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${keyed('Server Key').toString('base64')}`;
}
