import { useQuery, useQueryClient } from '@tanstack/react-query';
import { LogOut } from 'lucide-react';
import { useState } from 'react';
import { portal } from '../../api/client.ts';
import { leaveSession, sessionKey, useSession } from '../../api/session.ts';
import { setTheme, themes, useTheme } from '../../app/theme.ts';
import { ActionButton, Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Badge, Failure, notify, notifyFailure } from '../../ui/feedback.tsx';
import { Segmented } from '../../ui/filters.tsx';
import { TextField, useApiForm } from '../../ui/form.tsx';
import { Time } from '../../ui/format.tsx';
import { Fact, Page, Section } from '../../ui/page.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { NewPasswordFields } from '../entrance/new-password.tsx';
import { roleNames } from '../organization/roles.tsx';
import { TwoFactor } from './two-factor.tsx';

export function SettingsPage() {
  const { user, organization, has_password: hasPassword } = useSession();
  return (
    <Page title="Settings" description="Your account in this portal." narrow>
      <Section title="Profile">
        <dl className="facts">
          <Fact label="Name" dir="auto">
            {user.name}
          </Fact>
          <Fact label="E-mail" dir="auto">
            {user.email}
          </Fact>
          <Fact label="Role" dir="auto">
            {roleNames[user.role]}
          </Fact>
          <Fact label="Organization" dir="auto">
            {organization.name}
          </Fact>
        </dl>
      </Section>
      <Appearance />
      <Password isFirst={!hasPassword} />
      {hasPassword && <TwoFactor />}
      <Sessions />
    </Page>
  );
}

const themeNames = { system: 'As the system', light: 'Light', dark: 'Dark' };
const themeOptions = themes.map((id) => ({ id, label: themeNames[id] }));

function Appearance() {
  return (
    <Section title="Appearance">
      <Segmented label="Theme" options={themeOptions} value={useTheme()} onChange={setTheme} />
    </Section>
  );
}

const empty = { current_password: '', new_password: '', repeated: '' };

function Password({ isFirst }: { isFirst: boolean }) {
  const client = useQueryClient();
  const form = useApiForm(empty, async ({ repeated: _repeated, ...body }) => {
    await portal('PUT', '/password', body).catch((cause) => {
      // Another window may have set a password in the meantime, which this form then has to ask for.
      if (isFirst) void client.invalidateQueries({ queryKey: sessionKey });
      throw cause;
    });
    form.reset(empty);
    notify(`The password is ${isFirst ? 'set' : 'changed'}. Your other sessions have ended.`);
    await Promise.all([sessionKey, ['sessions']].map((queryKey) => client.invalidateQueries({ queryKey })));
  });
  const description = isFirst
    ? "Sign in with your e-mail address too, beside your organization's identity provider. Setting a password ends all your other sessions."
    : 'A change ends all your other sessions.';
  return (
    <Section title="Password" description={description}>
      <form className="card padded" onSubmit={form.submit} noValidate>
        {!isFirst && (
          <TextField
            label="Current password"
            type="password"
            autoComplete="current-password"
            error={form.errorOf('current_password')}
            {...form.register('current_password', { required: 'Enter your current password.' })}
          />
        )}
        <NewPasswordFields form={form} name="new_password" />
        {form.failure}
        <div>
          <Button type="submit" busy={form.formState.isSubmitting}>
            {isFirst ? 'Set a password' : 'Change the password'}
          </Button>
        </div>
      </form>
    </Section>
  );
}

interface PortalSession {
  id: string;
  created_at: string;
  last_used_at: string;
  user_agent: string;
  address: string;
  current: boolean;
}

function Sessions() {
  const client = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: ['sessions'],
    queryFn: async () => (await portal<{ data: PortalSession[] }>('GET', '/sessions')).data,
  });
  const end = (id: string) =>
    portal('DELETE', `/sessions/${encodeURIComponent(id)}`)
      .then(() => client.invalidateQueries({ queryKey: ['sessions'] }))
      .catch(notifyFailure);
  const [isAsking, setAsking] = useState(false);
  const endAll = () => portal('DELETE', '/sessions').then(() => leaveSession('/sign-in'));
  return (
    <Section
      title="Sessions"
      description="Browsers in which you are signed in."
      actions={
        <Button icon={LogOut} onClick={() => setAsking(true)}>
          Sign out everywhere
        </Button>
      }
    >
      {error && !data ? (
        <Failure cause={error} onRetry={() => void refetch()} />
      ) : (
        <Table
          label="Sessions"
          columns={columns}
          rows={data}
          rowKey={({ id }) => id}
          skeletonRows={2}
          empty={null}
          actions={({ id, user_agent: agent, address, current }) =>
            current ? null : (
              <ActionButton
                variant="ghost"
                icon={LogOut}
                aria-label={`End the session of ${browserOf(agent)} at ${address}`}
                onClick={() => end(id)}
              />
            )
          }
        />
      )}
      {isAsking && (
        <ConfirmDialog title="Sign out everywhere?" action="Sign out everywhere" onConfirm={endAll} onClose={() => setAsking(false)}>
          All your sessions end, also the one in this browser.
        </ConfirmDialog>
      )}
    </Section>
  );
}

const columns: Column<PortalSession>[] = [
  {
    id: 'browser',
    header: 'Browser',
    cell: ({ user_agent: agent, current }) => (
      <div className="row" title={agent}>
        <span className="truncate">{browserOf(agent)}</span>
        {current && <Badge tone="accent">This one</Badge>}
      </div>
    ),
  },
  { id: 'address', header: 'Address', width: '11rem', cell: ({ address }) => <span className="mono small">{address}</span> },
  { id: 'used', header: 'Last used', width: '9rem', cell: ({ last_used_at: iso }) => <Time iso={iso} /> },
];

/** `Chrome on Linux`. The order matters: browsers name each other. */
function browserOf(agent: string): string {
  const browser = ['Firefox', 'Edg', 'OPR', 'Chrome', 'Safari'].find((name) => agent.includes(`${name}/`));
  const system = ['iPhone', 'iPad', 'Android', 'Windows', 'Mac OS X', 'Linux'].find((name) => agent.includes(name));
  const name = browser === 'Edg' ? 'Edge' : browser === 'OPR' ? 'Opera' : browser;
  return name && system ? `${name} on ${system === 'Mac OS X' ? 'macOS' : system}` : agent || 'Unknown browser';
}
