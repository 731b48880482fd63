import { useEnvironment } from '../../app/use-environment.ts';
import { CheckField } from '../../ui/form.tsx';

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

interface ScopesProps {
  value: readonly Scope[];
  onChange: (scopes: Scope[]) => void;
  error?: string | undefined;
}

export function ScopesField({ value, onChange, error }: ScopesProps) {
  const offered = useEnvironment() === 'live' ? allScopes : testScopes;
  const isAll = offered.every((scope) => value.includes(scope));
  const toggle = (scope: Scope, isOn: boolean) => onChange(offered.filter((one) => (one === scope ? isOn : value.includes(one))));
  return (
    <fieldset className="field">
      <div className="row spread">
        <legend>Scopes</legend>
        <button type="button" className="link small" onClick={() => onChange(isAll ? [] : offered)}>
          {isAll ? 'Choose none' : 'Choose all'}
        </button>
      </div>
      <div className="scopes">
        {offered.map((scope) => (
          <CheckField
            key={scope}
            checked={value.includes(scope)}
            onChange={(event) => toggle(scope, event.target.checked)}
            label={<span className="mono small">{scope}</span>}
            hint={meanings[scope]}
          />
        ))}
      </div>
      {error && (
        <p className="error-text" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}

export const summarizeScopes = (scopes: readonly string[]): string =>
  scopes.length === allScopes.length ? 'All scopes' : scopes.join(', ') || 'None';
