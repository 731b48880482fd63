import { argon2 } from 'node:crypto';
import { promisify } from 'node:util';
import type { FairLimiter } from '@agent-service/contracts';
import {
  formatParameters,
  formatPassword,
  type PasswordParameters,
  parametersFor,
  parseParameters,
  passwordTagBytes,
} from './domain/passwords.ts';
import { isSameText } from './domain/secrets.ts';

interface StoredPassword {
  /** Null where the user has no password. */
  readonly hash: string | null;
}

interface PasswordInput {
  readonly email: string;
  readonly password: string;
  /** The work of one lane runs one after the other, so that an address that tries many passwords delays only itself. */
  readonly lane: string;
  readonly signal: AbortSignal;
}

/** Hashes passwords on a thread of their own, a few at a time, so that sign-ins leave the processor to authentication. */
export interface Passwords {
  /** The text that is stored for a password. */
  hash(input: PasswordInput): Promise<string>;
  /** Returns the users whose password this is. Takes as long for no user as for one; longer only where the hashes of the users have different parameters. */
  matching<User extends StoredPassword>(input: PasswordInput, users: readonly User[]): Promise<User[]>;
  /** True if a stored password is hashed as a new one of this user would be. */
  isCurrent(hash: string, email: string): boolean;
}

const hashPassword = promisify(argon2);
/** Hashes have different parameters if the e-mail address or the cost has changed since they were made. */
const maxParameters = 4;

export function createPasswords(saltKey: Buffer, limiter: FairLimiter): Passwords {
  const compute = (
    { password, lane, signal }: PasswordInput,
    { memory, passes, parallelism, salt }: PasswordParameters,
  ): Promise<Buffer> => {
    const message = password.normalize('NFC');
    const parameters = { message, nonce: salt, parallelism, tagLength: passwordTagBytes, memory, passes };
    return limiter.run(lane, () => hashPassword('argon2id', parameters), signal);
  };

  return {
    async hash(input) {
      const parameters = parametersFor(saltKey, input.email);
      return formatPassword(parameters, await compute(input, parameters));
    },
    async matching(input, users) {
      const stored = new Map<string, PasswordParameters>();
      for (const { hash } of users) {
        const parsed = hash === null ? undefined : parseParameters(hash);
        if (parsed) stored.set(parsed.text, parsed.parameters);
      }
      const present = parametersFor(saltKey, input.email);
      // First, so that older hashes of users of other organizations keep no present password out.
      const isPresentStored = stored.delete(formatParameters(present));
      const candidates = isPresentStored || stored.size === 0 ? [present, ...stored.values()] : [...stored.values()];
      const computed: string[] = [];
      for (const parameters of candidates.slice(0, maxParameters))
        computed.push(formatPassword(parameters, await compute(input, parameters)));
      return users.filter(({ hash }) => hash !== null && computed.some((text) => isSameText(text, hash)));
    },
    isCurrent: (hash, email) => parseParameters(hash)?.text === formatParameters(parametersFor(saltKey, email)),
  };
}
