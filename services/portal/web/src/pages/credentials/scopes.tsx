import type { ComponentProps } from 'react';
import { useEnvironment } from '../../app/use-environment.ts';
import { CheckGroup } from '../../ui/form.tsx';

/** The scopes of the API, and what each allows. */
const meanings = {
  'agents:read': 'List and view agents',
  'agents:write': 'Create, change and delete agents',
  'agents:chat': 'Send messages to agents',
  'templates:read': 'List and view templates',
  'templates:write': 'Activate and deactivate templates',
  'credits:read': 'View credit balances and usage',
  'credits:write': 'Allocate credits to users',
  'users:read': 'List and view users',
  'users:write': 'Register users and change roles',
  'webhooks:read': 'List and view webhooks',
  'webhooks:write': 'Create, change and delete webhooks',
  'audit:read': 'View the audit log',
} as const;

export type Scope = keyof typeof meanings;
export const allScopes = Object.keys(meanings) as Scope[];

/** Users belong to the organization: no credential of the test environment may change them. */
const testScopes = allScopes.filter((scope) => scope !== 'users:write');

/** The rules of a field of scopes. */
export const scopeRules = { validate: (scopes: readonly Scope[]) => scopes.length > 0 || 'Choose at least one scope.' };

type ScopesProps = Pick<ComponentProps<typeof CheckGroup<Scope>>, 'value' | 'onChange' | 'error' | 'ref'>;

export function ScopesField({ value, onChange, error, ref }: ScopesProps) {
  const offered = useEnvironment() === 'live' ? allScopes : testScopes;
  const isAll = offered.every((scope) => value.includes(scope));
  return (
    <CheckGroup
      label="Scopes"
      names={offered}
      hints={meanings}
      value={value}
      onChange={onChange}
      error={error}
      ref={ref}
      more={
        <button type="button" className="link small" onClick={() => onChange(isAll ? [] : offered)}>
          {isAll ? 'Choose none' : 'Choose all'}
        </button>
      }
    />
  );
}

export const summarizeScopes = (scopes: readonly string[]): string =>
  scopes.length === allScopes.length ? 'All scopes' : scopes.join(', ') || 'None';
