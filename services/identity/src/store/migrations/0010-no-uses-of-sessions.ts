import { migration } from '@agent-service/store';

// Each session of the portal left a row here, which nothing reads or removes.
const removal = `delete from credential_uses where credential_id like 'ses\\_%'`;

export const noUsesOfSessions = migration('0010-no-uses-of-sessions', removal);
