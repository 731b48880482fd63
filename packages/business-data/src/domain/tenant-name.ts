/** What a tenant's roles go by: whoever makes them and whoever drops them has to say the same. */
export const tenantName = ({ organizationId, environment }: { readonly organizationId: string; readonly environment: string }): string =>
  `${organizationId} ${environment}`;
