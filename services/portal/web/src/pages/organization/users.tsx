import type { User } from '@agent-service/client';
import { useQueryClient } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { Link2, Mail, Pencil, UserCheck, Users, UserX } from 'lucide-react';
import { useState } from 'react';
import { api, bodyOf, portal } from '../../api/client.ts';
import { sessionKey, useSession } from '../../api/session.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog, FormDialog, Menu, SecretDialog } from '../../ui/dialog.tsx';
import { Badge, Empty, notify, notifyFailure } from '../../ui/feedback.tsx';
import { changesOf, TextField, useApiForm } from '../../ui/form.tsx';
import { formatDateTime, plural, Time } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';
import { type Column, FilterSelect, Table, useCursorList } from '../../ui/table.tsx';
import { Invitations, InviteDialog } from './invitations.tsx';
import { RoleField, roleNames } from './roles.tsx';

/** Users belong to the organization; credentials of the test environment cannot change them. */
const environment = 'live';

/** Parts of the keys of what a change of a user may change. The session has the name and the role of the own user. */
const changing = ['users', 'invitations', ...sessionKey];

type Acting =
  | { kind: 'edit' | 'makeLink' | 'deactivate'; user: User }
  | { kind: 'invite' }
  | { kind: 'link'; link: string; description: string };

export function UsersPage() {
  const client = useQueryClient();
  const { status, role } = useSearch({ strict: false });
  const [acting, setActing] = useState<Acting>();
  const filter = { ...(status && { status: status as User['status'] }), ...(role && { role: role as User['role'] }) };
  const list = useCursorList([environment, 'users', filter], (cursor) =>
    bodyOf(api(environment).GET('/v1/users', { params: { query: { limit: 50, ...(cursor && { cursor }), ...filter } } })),
  );
  const changed = () => client.invalidateQueries({ predicate: ({ queryKey }) => changing.some((name) => queryKey.includes(name)) });
  const close = () => setActing(undefined);
  const invite = (
    <Button variant="primary" icon={Mail} onClick={() => setActing({ kind: 'invite' })}>
      Invite a user
    </Button>
  );
  return (
    <Page title="Users" description="People and applications of your organization, in both environments." actions={invite}>
      <div className="stack loose">
        <Invitations />
        <div>
          <UserFilters />
          <Table
            label="Users"
            columns={columns}
            rows={list.rows}
            isLoading={list.isLoading}
            rowKey={({ id }) => id}
            failure={list.failure}
            onRetry={list.refetch}
            actions={(user) => <UserMenu user={user} onAct={setActing} onChanged={changed} />}
            empty={
              <Empty icon={Users} title="No user matches" actions={invite}>
                Choose other filters, or create a link that invites a user.
              </Empty>
            }
          />
          {list.pager}
        </div>
      </div>
      {acting?.kind === 'invite' && (
        <InviteDialog
          onClose={close}
          // Nothing may keep the link from being shown, as a list that cannot be read.
          onInvited={(link, email) => {
            setActing({ kind: 'link', link, description: `Send this link to ${email}. It can be used once, and is not shown again.` });
            void changed();
          }}
        />
      )}
      {acting?.kind === 'makeLink' && (
        <MakeLink user={acting.user} onClose={close} onMade={(link, description) => setActing({ kind: 'link', link, description })} />
      )}
      {acting?.kind === 'link' && (
        <SecretDialog
          title="The link is ready"
          description={acting.description}
          secrets={[{ label: 'Link', value: acting.link }]}
          onClose={close}
        />
      )}
      {acting?.kind === 'edit' && <EditUser user={acting.user} onClose={close} onChanged={changed} />}
      {acting?.kind === 'deactivate' && <DeactivateUser user={acting.user} onClose={close} onChanged={changed} />}
    </Page>
  );
}

function UserFilters() {
  return (
    <div className="filters">
      <FilterSelect
        name="role"
        label="Role"
        all="Every role"
        options={[
          { value: 'admin', label: 'Administrators' },
          { value: 'member', label: 'Members' },
        ]}
      />
      <FilterSelect
        name="status"
        label="Status"
        all="Every status"
        options={[
          { value: 'active', label: 'Active' },
          { value: 'deactivated', label: 'Deactivated' },
        ]}
      />
    </div>
  );
}

const columns: Column<User>[] = [
  {
    id: 'name',
    header: 'User',
    cell: ({ name, email }) => (
      <>
        <div className="cell-title truncate" dir="auto">
          {name}
        </div>
        <div className="cell-note truncate">{email || 'No e-mail address'}</div>
      </>
    ),
  },
  { id: 'role', header: 'Role', width: '9rem', cell: ({ role }) => roleNames[role] },
  {
    id: 'status',
    header: 'Status',
    width: '9rem',
    cell: ({ status }) => (
      <Badge tone={status === 'active' ? 'success' : 'neutral'}>{status === 'active' ? 'Active' : 'Deactivated'}</Badge>
    ),
  },
  { id: 'created', header: 'Since', width: '9rem', cell: ({ created_at: iso }) => <Time iso={iso} /> },
];

interface MenuProps {
  user: User;
  onAct: (acting: Acting) => void;
  onChanged: () => Promise<unknown>;
}

function UserMenu({ user, onAct, onChanged }: MenuProps) {
  const { user: self } = useSession();
  const isActive = user.status === 'active';
  const reactivate = () =>
    void bodyOf(api(environment).PATCH('/v1/users/{user_id}', { params: { path: { user_id: user.id } }, body: { status: 'active' } }))
      .then(() => notify(`${user.name} is active again.`))
      .then(onChanged)
      .catch(notifyFailure);
  const isSelf = user.id === self.id;
  return (
    <Menu
      label={`Actions of ${user.name}`}
      items={[
        { label: 'Edit', icon: Pencil, onSelect: () => onAct({ kind: 'edit', user }) },
        {
          label: 'Link to set a password',
          icon: Link2,
          disabled: !isActive || isSelf || user.email === '',
          onSelect: () => onAct({ kind: 'makeLink', user }),
        },
        'line',
        isActive
          ? { label: 'Deactivate', icon: UserX, danger: true, disabled: isSelf, onSelect: () => onAct({ kind: 'deactivate', user }) }
          : { label: 'Activate again', icon: UserCheck, onSelect: reactivate },
      ]}
    />
  );
}

interface DialogProps {
  user: User;
  onClose: () => void;
  onChanged: () => Promise<unknown>;
}

function EditUser({ user, onClose, onChanged }: DialogProps) {
  const defaults = { name: user.name, email: user.email, role: user.role };
  const form = useApiForm(defaults, async (values) => {
    const body = changesOf(defaults, values);
    await bodyOf(api(environment).PATCH('/v1/users/{user_id}', { params: { path: { user_id: user.id } }, body }));
    await onChanged();
    notify('The changes are saved.');
    onClose();
  });
  return (
    <FormDialog title="Edit the user" onClose={onClose} form={form} action="Save">
      <TextField label="Name" error={form.errorOf('name')} {...form.register('name', { required: 'Enter a name.' })} />
      <TextField label="E-mail" type="email" error={form.errorOf('email')} {...form.register('email')} />
      <RoleField hint="A change of role applies at once." error={form.errorOf('role')} {...form.register('role')} />
    </FormDialog>
  );
}

interface LinkProps {
  user: User;
  onClose: () => void;
  onMade: (link: string, description: string) => void;
}

function MakeLink({ user, onClose, onMade }: LinkProps) {
  const form = useApiForm({}, async () => {
    const path = `/users/${encodeURIComponent(user.id)}/reset-link`;
    const { data } = await portal<{ data: { link: string; expires_at: string } }>('POST', path);
    const until = formatDateTime(data.expires_at);
    onMade(data.link, `With this link ${user.name} sets a new password, once and until ${until}. It is not shown again.`);
  });
  return (
    <FormDialog
      title="Link to set a password"
      description={`You get a link to pass on. ${user.name} sets a new password with it.`}
      onClose={onClose}
      form={form}
      action="Create the link"
    />
  );
}

function DeactivateUser({ user, onClose, onChanged }: DialogProps) {
  const deactivate = async () => {
    const params = { path: { user_id: user.id } };
    const { data } = await bodyOf(api(environment).PATCH('/v1/users/{user_id}', { params, body: { status: 'deactivated' } }));
    const { api_keys: keys = 0, oauth_applications: applications = 0 } = data.ended_credentials ?? {};
    const ended = [keys > 0 && plural(keys, 'key'), applications > 0 && plural(applications, 'application')].filter(Boolean);
    notify(`${user.name} is deactivated${ended.length > 0 ? `; ${ended.join(' and ')} ended` : ''}.`);
    await onChanged();
  };
  return (
    <ConfirmDialog title="Deactivate this user?" action="Deactivate" name={user.name} onConfirm={deactivate} onClose={onClose}>
      The user is signed out, and every API key and OAuth application of the user ends. Keys stay ended if the user is activated again.
      Credits are set aside for the user each month until you set the allocation to 0.
    </ConfirmDialog>
  );
}
