import { type Relay, type Sql, writeEvents } from '@agent-service/store';

/** The events of users for webhooks. Records nothing where webhooks are off. */
export interface UserEvents {
  addRegistered(sql: Sql, organizationId: string, user: { id: string; role: string; createdAt: string }): Promise<void>;
  addDeactivated(sql: Sql, organizationId: string, userId: string, at: Date): Promise<void>;
  /** Call it after the commit. */
  nudge(): void;
}

/** Users belong to the organization, so their events belong to both environments. */
export function createUserEvents(relay: Relay | undefined): UserEvents {
  const add = async (sql: Sql, event: Parameters<typeof writeEvents>[1][number]) => {
    if (relay) await writeEvents(sql, [event]);
  };
  return {
    addRegistered(sql, organizationId, { id, role, createdAt }) {
      const data = { organization_id: organizationId, user_id: id, role, registered_at: createdAt };
      return add(sql, { type: 'user.registered', organizationId, environment: '', createdAt, data });
    },
    addDeactivated(sql, organizationId, userId, at) {
      const createdAt = at.toISOString();
      const data = { organization_id: organizationId, user_id: userId, deactivated_at: createdAt };
      return add(sql, { type: 'user.deactivated', organizationId, environment: '', createdAt, data });
    },
    nudge: () => relay?.nudge(),
  };
}
