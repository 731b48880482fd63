import { type Relay, type Sql, writeEvents } from '@agent-service/store';

/** What webhooks are told of users; nothing at all where webhooks are off. */
export interface UserEvents {
  registered(sql: Sql, organizationId: string, user: { id: string; role: string; createdAt: string }): Promise<void>;
  deactivated(sql: Sql, organizationId: string, userId: string, at: Date): Promise<void>;
  /** Events were committed. */
  nudge(): void;
}

/** Users belong to the organization, so their events are those of both environments. */
export function createUserEvents(relay: Relay | undefined): UserEvents {
  const write = async (sql: Sql, event: Parameters<typeof writeEvents>[1][number]) => {
    if (relay) await writeEvents(sql, [event]);
  };
  return {
    registered(sql, organizationId, { id, role, createdAt }) {
      const data = { organization_id: organizationId, user_id: id, role, registered_at: createdAt };
      return write(sql, { type: 'user.registered', organizationId, environment: '', createdAt, data });
    },
    deactivated(sql, organizationId, userId, at) {
      const createdAt = at.toISOString();
      const data = { organization_id: organizationId, user_id: userId, deactivated_at: createdAt };
      return write(sql, { type: 'user.deactivated', organizationId, environment: '', createdAt, data });
    },
    nudge: () => relay?.nudge(),
  };
}
