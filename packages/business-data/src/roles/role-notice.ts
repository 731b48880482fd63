/** Something about roles that an operator may want to know; it holds no data and no secret. */
export interface RoleNotice {
  readonly level: 'info' | 'warn';
  readonly event: 'data_source_role_not_used' | 'data_source_role_denied' | 'data_source_roles_left';
  readonly tenant: string;
  /** Of a role, or what the names of all roles of the tenant begin with. */
  readonly role: string;
  readonly reason: string;
}
