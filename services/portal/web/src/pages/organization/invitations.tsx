import { useQuery, useQueryClient } from '@tanstack/react-query';
import { X } from 'lucide-react';
import { portal } from '../../api/client.ts';
import { ActionButton } from '../../ui/button.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Failure, notify, notifyFailure } from '../../ui/feedback.tsx';
import { TextField, useApiForm } from '../../ui/form.tsx';
import { formatDateTime } from '../../ui/format.tsx';
import { Section } from '../../ui/page.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { RoleField, roleNames } from './roles.tsx';

interface Invitation {
  id: string;
  email: string;
  name?: string;
  role: 'admin' | 'member';
  expires_at: string;
}

const key = ['invitations'];

/** Invitations that wait to be accepted; nothing where there are none. */
export function Invitations() {
  const client = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: key,
    queryFn: async () => (await portal<{ data: Invitation[] }>('GET', '/invitations')).data,
  });
  if (error && !data) return <Failure cause={error} onRetry={() => void refetch()} />;
  if (!data || data.length === 0) return null;
  const withdraw = ({ id, email }: Invitation) =>
    portal('DELETE', `/invitations/${encodeURIComponent(id)}`)
      .then(() => notify(`The invitation of ${email} is withdrawn.`))
      .then(() => client.invalidateQueries({ queryKey: key }))
      .catch(notifyFailure);
  return (
    <Section title="Invitations">
      <Table
        label="Invitations"
        columns={columns}
        rows={data}
        rowKey={({ id }) => id}
        actions={(invitation) => (
          <ActionButton
            variant="ghost"
            icon={X}
            aria-label={`Withdraw the invitation of ${invitation.email}`}
            onClick={() => withdraw(invitation)}
          />
        )}
        empty={null}
      />
    </Section>
  );
}

const columns: Column<Invitation>[] = [
  { id: 'email', header: 'E-mail', cell: ({ email }) => <div className="truncate">{email}</div> },
  { id: 'role', header: 'Role', width: '9rem', cell: ({ role }) => roleNames[role] },
  { id: 'ends', header: 'Valid until', width: '14rem', cell: ({ expires_at: iso }) => formatDateTime(iso) },
];

interface InviteProps {
  onClose: () => void;
  onInvited: (link: string, email: string) => void;
}

export function InviteDialog({ onClose, onInvited }: InviteProps) {
  const form = useApiForm({ email: '', name: '', role: 'member' }, async ({ name, ...values }) => {
    const { data } = await portal<{ data: { link: string } }>('POST', '/invitations', { ...values, ...(name && { name }) });
    onInvited(data.link, values.email);
  });
  return (
    <FormDialog
      title="Invite a user"
      description="You get a link to pass on. The user sets a password with it."
      onClose={onClose}
      form={form}
      action="Create the link"
    >
      <TextField
        label="E-mail"
        type="email"
        error={form.errorOf('email')}
        {...form.register('email', { required: 'Enter an e-mail address.' })}
      />
      <TextField label="Name" optional error={form.errorOf('name')} {...form.register('name')} />
      <RoleField error={form.errorOf('role')} {...form.register('role')} />
    </FormDialog>
  );
}
