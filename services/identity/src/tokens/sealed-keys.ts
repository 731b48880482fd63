import { sealedColumn } from '@agent-service/store';

export const keyContext = (kid: string): string => `signing_keys/${kid}/private_key`;

/** The private keys that tokens are signed with, those of the past included. There is one in three months. */
export const sealedKeys = sealedColumn({
  table: 'signing_keys',
  column: 'private_key',
  key: ['kid'],
  contextOf: ({ kid = '' }) => keyContext(kid),
});
