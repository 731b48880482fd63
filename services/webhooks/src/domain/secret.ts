import { randomBytes } from 'node:crypto';

const bytes = 32;

/** In the form of the Standard Webhooks. */
export const makeSecret = (random: (size: number) => Buffer = randomBytes): string => `whsec_${random(bytes).toString('base64')}`;

/** How long the secret before signs along after a rotation. */
export const previousSecretMs = 24 * 3_600_000;
