/** Whose books they are: everything but the users belongs to one environment of one organization. */
export interface Tenant {
  readonly organizationId: string;
  readonly environment: 'live' | 'test';
}

/** What maps in memory go by. */
export const nameOf = ({ organizationId, environment }: Tenant): string => `${organizationId} ${environment}`;

/** What a tenant's pool holds when its ledger is opened: play money to try things with, and nothing of worth. */
export const OPENING_CREDITS: Readonly<Record<Tenant['environment'], number>> = { live: 0, test: 100_000 };

/** The id of the grant that brings the opening credits. */
export const OPENING_GRANT = 'opening';
