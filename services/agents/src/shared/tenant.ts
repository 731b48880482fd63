/** Whose agents they are: everything belongs to one environment of one organization. */
export interface Tenant {
  readonly organizationId: string;
  readonly environment: 'live' | 'test';
}
