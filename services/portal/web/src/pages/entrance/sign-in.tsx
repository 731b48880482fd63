import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { portal } from '../../api/client.ts';
import { ApiError, messageOf } from '../../api/errors.ts';
import { openSession, readSignInFeatures, type Session, sessionQuery } from '../../api/session.ts';
import { Button } from '../../ui/button.tsx';
import { Loading, Notice } from '../../ui/feedback.tsx';
import { SelectField, TextField, useApiForm } from '../../ui/form.tsx';
import { Entrance, safePath } from './entrance.tsx';

export function SignInPage() {
  const { data: session, isPending, error: failure, refetch } = useQuery(sessionQuery);
  const { return_to: returnTo, error } = useSearch({ strict: false });
  const router = useRouter();
  const isSignedIn = Boolean(session);
  useEffect(() => {
    if (isSignedIn) router.history.replace(safePath(returnTo));
  }, [isSignedIn, returnTo, router]);
  if (isPending || isSignedIn) return <Loading />;
  // Later failures leave the form as it is.
  if (failure && session === undefined)
    return (
      <Entrance title="Sign in">
        <Notice tone="danger">{messageOf(failure)}</Notice>
        <Button variant="primary" large wide onClick={() => void refetch()}>
          Try again
        </Button>
      </Entrance>
    );
  const features = readSignInFeatures();
  return (
    <Entrance title="Sign in">
      {error && (
        <Notice tone="danger">{providerErrors[error] ?? 'The sign-in with your identity provider did not succeed. Try again.'}</Notice>
      )}
      <PasswordForm />
      {features.openid_connect && (
        <a className="button large wide" href={`/api/openid-connect/start?return_to=${encodeURIComponent(safePath(returnTo))}`}>
          Sign in with your organization
        </a>
      )}
      <p className="hint">No account, or a forgotten password? An administrator of your organization can send you a link.</p>
    </Entrance>
  );
}

/** By the code of the address that a sign-in with the provider leads back to. */
const providerErrors: Readonly<Record<string, string>> = {
  invalid_credentials: 'No active user has the e-mail address of your account there. Ask an administrator for an invitation.',
  sign_in_expired: 'The sign-in with your identity provider took too long. Try again.',
  unavailable: 'Your identity provider cannot be reached at the moment. Try again in a minute.',
};

interface Organization {
  id: string;
  name: string;
}

const blank = { email: '', password: '', code: '', organization_id: '' };

function PasswordForm() {
  const client = useQueryClient();
  const [needsCode, setNeedsCode] = useState(false);
  const [organizations, setOrganizations] = useState<Organization[]>([]);
  const { register, submit, errorOf, failure, formState } = useApiForm(
    blank,
    async ({ code, organization_id: organizationId, ...values }) => {
      try {
        const body = { ...values, ...(needsCode && { code: code.trim() }), ...(organizationId && { organization_id: organizationId }) };
        const { data } = await portal<{ data: Session }>('POST', '/session', body);
        openSession(client, data);
      } catch (cause) {
        if (!(cause instanceof ApiError)) throw cause;
        if (cause.code === 'code_required' && !needsCode) setNeedsCode(true);
        else if (cause.code === 'organization_required') setOrganizations(cause.details.organizations as Organization[]);
        else throw cause;
      }
    },
  );
  return (
    <form className="stack" onSubmit={submit} noValidate>
      <TextField
        label="E-mail"
        type="email"
        autoComplete="username"
        readOnly={needsCode}
        autoFocus
        error={errorOf('email')}
        {...register('email', { required: 'Enter your e-mail address.' })}
      />
      <TextField
        label="Password"
        type="password"
        autoComplete="current-password"
        readOnly={needsCode}
        error={errorOf('password')}
        {...register('password', { required: 'Enter your password.' })}
      />
      {organizations.length > 0 && (
        <SelectField label="Organization" error={errorOf('organization_id')} {...register('organization_id', { required: 'Choose one.' })}>
          <option value="">Choose an organization</option>
          {organizations.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </SelectField>
      )}
      {needsCode && (
        <TextField
          label="Code"
          hint="The six digits of your authenticator app, or a recovery code."
          autoComplete="one-time-code"
          autoFocus
          error={errorOf('code')}
          {...register('code', { required: 'Enter the code.' })}
        />
      )}
      {failure}
      <Button type="submit" variant="primary" large wide busy={formState.isSubmitting}>
        Sign in
      </Button>
    </form>
  );
}
