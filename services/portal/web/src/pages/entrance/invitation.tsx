import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter, useSearch } from '@tanstack/react-router';
import { portal } from '../../api/client.ts';
import { messageOf } from '../../api/errors.ts';
import { openSession, type Session } from '../../api/session.ts';
import { Button } from '../../ui/button.tsx';
import { Loading, Notice } from '../../ui/feedback.tsx';
import { TextField, useApiForm } from '../../ui/form.tsx';
import { Entrance } from './entrance.tsx';
import { NewPasswordFields } from './new-password.tsx';

interface Invitation {
  organization: { name: string };
  email: string;
  name?: string;
}

export function InvitationPage() {
  const { token = '' } = useSearch({ strict: false });
  const { data, error, isPending } = useQuery({
    queryKey: ['invitation', token],
    queryFn: async () => (await portal<{ data: Invitation }>('GET', `/invitations/lookup?token=${encodeURIComponent(token)}`)).data,
    retry: false,
  });
  if (isPending) return <Loading />;
  if (!data)
    return (
      <Entrance title="Invitation">
        <Notice tone="danger">{messageOf(error)}</Notice>
        <p className="hint">
          An invitation can be used once and ends after a while. Ask an administrator of the organization for a new one.
        </p>
      </Entrance>
    );
  return (
    <Entrance title={`Join ${data.organization.name}`} description={`Your account will be ${data.email}.`}>
      <AcceptForm token={token} invitation={data} />
    </Entrance>
  );
}

function AcceptForm({ token, invitation }: { token: string; invitation: Invitation }) {
  const client = useQueryClient();
  const router = useRouter();
  const form = useApiForm({ name: invitation.name ?? '', password: '', repeated: '' }, async ({ name, password }) => {
    const { data } = await portal<{ data: Session }>('POST', '/invitations/accept', { token, name, password });
    openSession(client, data);
    router.history.replace('/live');
  });
  return (
    <form className="stack" onSubmit={form.submit} noValidate>
      <TextField
        label="Your name"
        autoComplete="name"
        autoFocus
        error={form.errorOf('name')}
        {...form.register('name', { required: 'Enter your name.' })}
      />
      <NewPasswordFields form={form} />
      {form.failure}
      <Button type="submit" variant="primary" large wide busy={form.formState.isSubmitting}>
        Create the account
      </Button>
    </form>
  );
}
