/** Every scope there is, with what it grants. */
export const scopes = {
  'agents:read': 'list and view agents',
  'agents:write': 'create, update, delete agents',
  'agents:chat': 'send messages to agents',
  'templates:read': 'list and view templates',
  'templates:write': 'activate and deactivate templates',
  'credits:read': 'view credit balance and usage',
  'credits:write': 'allocate credits to users',
  'users:read': 'list and view user accounts',
  'users:write': 'manage user registrations and roles',
  'webhooks:read': 'list and view webhooks',
  'webhooks:write': 'create, update, delete webhooks',
  'audit:read': 'view audit log entries',
} as const;

export type Scope = keyof typeof scopes;

export const allScopes = Object.keys(scopes) as Scope[];

export const isScope = (name: string): name is Scope => Object.hasOwn(scopes, name);
