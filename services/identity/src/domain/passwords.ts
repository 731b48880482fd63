import { createHmac } from 'node:crypto';

/** Argon2id as OWASP recommends it: about 40 ms of one core and 19 MiB. */
const passwordCost = { memory: 19_456, passes: 2, parallelism: 1 } as const;
export const passwordTagBytes = 32;
const saltBytes = 16;

/** The input of a hash besides the password. Equal parameters give equal hashes of equal passwords. */
export interface PasswordParameters {
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
  readonly salt: Buffer;
}

/** The users of one address share a salt, so that a sign-in costs one hash however many organizations know the address, or none. */
export const parametersFor = (saltKey: Buffer, email: string): PasswordParameters => ({
  ...passwordCost,
  salt: createHmac('sha256', saltKey).update(email.toLowerCase()).digest().subarray(0, saltBytes),
});

const base64 = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');

/** The parameters as they stand before the hash in a stored password (the PHC string format). */
export const formatParameters = ({ memory, passes, parallelism, salt }: PasswordParameters): string =>
  `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}`;

export const formatPassword = (parameters: PasswordParameters, tag: Buffer): string => `${formatParameters(parameters)}$${base64(tag)}`;

const stored = /^(\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d)\$([A-Za-z0-9+/]{11,}))\$[A-Za-z0-9+/]+$/;

/** The parameters of a stored password, and their text; undefined where the text is none. */
export function parseParameters(hash: string): { readonly text: string; readonly parameters: PasswordParameters } | undefined {
  const [, text = '', memory, passes, parallelism, salt = ''] = stored.exec(hash) ?? [];
  if (text === '') return undefined;
  const numbers = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  return { text, parameters: { ...numbers, salt: Buffer.from(salt, 'base64') } };
}

const shortest = 12;
const longest = 256;

/** Why a password is not accepted; undefined if it is. */
export function faultOfPassword(password: string, email: string): string | undefined {
  const length = [...password].length;
  if (length < shortest || length > longest) return `The password must have ${shortest} to ${longest} characters.`;
  if (new Set(password).size < 5) return 'The password must have at least five different characters.';
  const rest = [email, email.split('@', 1)[0] ?? ''].reduce(
    (text, part) => (part.length > 3 ? text.replaceAll(part.toLowerCase(), '') : text),
    password.toLowerCase(),
  );
  if (rest.length < shortest / 2) return 'The password must not be the e-mail address.';
  return undefined;
}
