export interface Tenant {
  readonly organizationId: string;
  readonly environment: 'live' | 'test';
}
