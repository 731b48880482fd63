import type { ApiKey } from '@agent-service/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { KeyRound, Pencil, Plus, RefreshCw, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Controller } from 'react-hook-form';
import { api, bodyOf } from '../../api/client.ts';
import { userName, usersQuery } from '../../api/lists.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog, FormDialog, Menu, SecretDialog } from '../../ui/dialog.tsx';
import { Badge, Empty, notify } from '../../ui/feedback.tsx';
import { CheckField, changesOf, TextField, useApiForm } from '../../ui/form.tsx';
import { Time } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';
import { type Column, FilterSelect, Table, useCursorList } from '../../ui/table.tsx';
import { RotateDialog } from './rotate.tsx';
import { allScopes, type Scope, ScopesField, scopeRules, summarizeScopes } from './scopes.tsx';
import { UserField } from './user-field.tsx';

type Acting = { kind: 'edit' | 'rotate' | 'revoke'; key: ApiKey } | { kind: 'create' } | { kind: 'secret'; secret: string; title: string };

export const statusOptions = [
  { value: 'active', label: 'Active' },
  { value: 'ended', label: 'Ended' },
];

export function KeysPage() {
  const environment = useEnvironment();
  const client = useQueryClient();
  const { status } = useSearch({ strict: false });
  const [acting, setActing] = useState<Acting>();
  const { data: users } = useQuery(usersQuery(environment));
  const filter = status ? { status: status as ApiKey['status'] } : {};
  const list = useCursorList([environment, 'keys', filter], (cursor) =>
    bodyOf(api(environment).GET('/v1/keys', { params: { query: { limit: 50, ...(cursor && { cursor }), ...filter } } })),
  );
  const changed = () => client.invalidateQueries({ queryKey: [environment, 'keys'] });
  const close = () => setActing(undefined);
  // Nothing may keep the secret from being shown, as a list that cannot be read.
  const showSecret = (title: string, secret: string) => {
    setActing({ kind: 'secret', title, secret });
    void changed();
  };
  const create = (
    <Button variant="primary" icon={Plus} onClick={() => setActing({ kind: 'create' })}>
      Create a key
    </Button>
  );
  return (
    <Page
      title="API keys"
      description={`Programs use a key to call the API in the ${environment} environment. Its requests are charged to its user.`}
      actions={create}
    >
      <div className="filters">
        <FilterSelect name="status" label="Status" all="Every status" options={statusOptions} />
      </div>
      <Table
        label="API keys"
        columns={columnsOf((id) => userName(users, id) ?? id)}
        rows={list.rows}
        isLoading={list.isLoading}
        rowKey={({ id }) => id}
        failure={list.failure}
        onRetry={list.refetch}
        actions={(key) => (key.status === 'active' || isEnding(key) ? <KeyMenu apiKey={key} onAct={setActing} /> : null)}
        empty={
          <Empty icon={KeyRound} title="No keys" actions={create}>
            A key is shown once, when it is created. Keep it like a password: on a server, never in a web page or an app.
          </Empty>
        }
      />
      {list.pager}
      <Dialogs acting={acting} onClose={close} onChanged={changed} onSecret={showSecret} />
    </Page>
  );
}

const columnsOf = (nameOf: (id: string) => string): Column<ApiKey>[] => [
  {
    id: 'name',
    header: 'Key',
    cell: ({ name, hint, admin }) => (
      <>
        <div className="row">
          <span className="cell-title truncate" dir="auto">
            {name || 'Unnamed'}
          </span>
          {admin && <Badge tone="accent">Administrator</Badge>}
        </div>
        <div className="cell-note mono truncate">{hint}</div>
      </>
    ),
  },
  {
    id: 'user',
    header: 'User',
    width: '11rem',
    cell: ({ user_id: id }) => (
      <div className="truncate" dir="auto" title={id}>
        {nameOf(id)}
      </div>
    ),
  },
  {
    id: 'scopes',
    header: 'Scopes',
    width: '14rem',
    cell: ({ scopes }) => (
      <div className="cell-note truncate" title={scopes.join(', ')}>
        {summarizeScopes(scopes)}
      </div>
    ),
  },
  { id: 'used', header: 'Last used', width: '8.5rem', cell: ({ last_used_at: iso }) => <Time iso={iso} fallback="Never" /> },
  { id: 'status', header: 'Status', width: '8.5rem', cell: (key) => <CredentialStatus {...key} /> },
];

type Lifetime = Pick<ApiKey, 'ends_at' | 'status'>;

/** True of a replaced key that is still valid. */
const isEnding = ({ ends_at: endsAt, status }: Lifetime): boolean =>
  status === 'ended' && endsAt !== null && new Date(endsAt).getTime() > Date.now();

/** Active, ending at a time, or ended. */
export function CredentialStatus({ ends_at, status }: Lifetime) {
  if (status === 'active') return <Badge tone="success">Active</Badge>;
  return isEnding({ ends_at, status }) ? <Badge tone="warning">Ends soon</Badge> : <Badge tone="neutral">Ended</Badge>;
}

function KeyMenu({ apiKey, onAct }: { apiKey: ApiKey; onAct: (acting: Acting) => void }) {
  const label = `Actions of ${apiKey.name || apiKey.hint}`;
  const revoke = { label: 'Revoke', icon: Trash2, danger: true, onSelect: () => onAct({ kind: 'revoke', key: apiKey }) };
  if (apiKey.status === 'ended') return <Menu label={`${label} (replaced)`} items={[revoke]} />;
  return (
    <Menu
      label={label}
      items={[
        { label: 'Edit', icon: Pencil, onSelect: () => onAct({ kind: 'edit', key: apiKey }) },
        { label: 'Replace', icon: RefreshCw, onSelect: () => onAct({ kind: 'rotate', key: apiKey }) },
        'line',
        revoke,
      ]}
    />
  );
}

interface DialogsProps {
  acting: Acting | undefined;
  onClose: () => void;
  onChanged: () => Promise<unknown>;
  onSecret: (title: string, secret: string) => void;
}

function Dialogs({ acting, onClose, onChanged, onSecret }: DialogsProps) {
  const environment = useEnvironment();
  switch (acting?.kind) {
    case 'create':
      return <CreateKey onClose={onClose} onCreated={(secret) => onSecret('The key is created', secret)} />;
    case 'edit':
      return <EditKey apiKey={acting.key} onClose={onClose} onChanged={onChanged} />;
    case 'rotate':
      return (
        <RotateDialog
          title="Replace the key?"
          subject={`the key ${acting.key.name || acting.key.hint}`}
          onClose={onClose}
          onRotate={async (seconds, key) => {
            const params = { path: { key_id: acting.key.id } };
            const body = { previous_valid_seconds: seconds };
            const sent = { params, body, headers: { 'Idempotency-Key': key } };
            const { data } = await bodyOf(api(environment).POST('/v1/keys/{key_id}/rotate', sent));
            onSecret('The key is replaced', data.api_key);
          }}
        />
      );
    case 'revoke':
      return <RevokeKey apiKey={acting.key} onClose={onClose} onChanged={onChanged} />;
    case 'secret':
      return (
        <SecretDialog
          title={acting.title}
          description="Copy it now: it is not stored, and will not be shown again."
          secrets={[{ label: 'API key', value: acting.secret }]}
          onClose={onClose}
        />
      );
    default:
      return null;
  }
}

function RevokeKey({ apiKey, onClose, onChanged }: { apiKey: ApiKey; onClose: () => void; onChanged: () => Promise<unknown> }) {
  const environment = useEnvironment();
  const revoke = async () => {
    await api(environment).DELETE('/v1/auth/keys/{key_id}', { params: { path: { key_id: apiKey.id } } });
    notify('The key was revoked.');
    await onChanged();
  };
  // The key that took its place has the same name.
  const title = apiKey.status === 'ended' ? 'Revoke the replaced key?' : 'Revoke this key?';
  return (
    <ConfirmDialog title={title} action="Revoke the key" name={apiKey.name || apiKey.hint} onConfirm={revoke} onClose={onClose}>
      Programs that use it, or a token made from it, are refused at once. This cannot be undone.
    </ConfirmDialog>
  );
}

function CreateKey({ onClose, onCreated }: { onClose: () => void; onCreated: (secret: string) => void }) {
  const environment = useEnvironment();
  const defaults = { name: '', user_id: '', scopes: ['agents:read', 'agents:chat'] as Scope[], admin: false };
  const form = useApiForm(defaults, async ({ user_id: userId, ...rest }, key) => {
    const body = { ...rest, ...(userId && { user_id: userId }) };
    const { data } = await bodyOf(api(environment).POST('/v1/keys', { body, headers: { 'Idempotency-Key': key } }));
    onCreated(data.api_key);
  });
  return (
    <FormDialog title={`Create a ${environment} key`} wide onClose={onClose} form={form} action="Create the key">
      <TextField
        label="Name"
        hint="Where the key is used, as Reporting or Web shop."
        maxLength={100}
        error={form.errorOf('name')}
        {...form.register('name', { required: 'Enter a name.' })}
      />
      <UserField none="You" error={form.errorOf('user_id')} {...form.register('user_id')} />
      <Controller
        control={form.control}
        name="scopes"
        rules={scopeRules}
        render={({ field }) => <ScopesField {...field} error={form.errorOf('scopes')} />}
      />
      <CheckField label="Administrator key" hint="may also manage keys and OAuth applications." {...form.register('admin')} />
    </FormDialog>
  );
}

interface EditProps {
  apiKey: ApiKey;
  onClose: () => void;
  onChanged: () => Promise<unknown>;
}

function EditKey({ apiKey, onClose, onChanged }: EditProps) {
  const environment = useEnvironment();
  const defaults = { name: apiKey.name, scopes: allScopes.filter((scope) => apiKey.scopes.includes(scope)) };
  const form = useApiForm(defaults, async (values) => {
    const body = changesOf(defaults, values);
    await bodyOf(api(environment).PATCH('/v1/keys/{key_id}', { params: { path: { key_id: apiKey.id } }, body }));
    await onChanged();
    notify('The changes are saved.');
    onClose();
  });
  return (
    <FormDialog
      title="Edit the key"
      description="Scopes that you take away are refused at once."
      wide
      onClose={onClose}
      form={form}
      action="Save"
    >
      <TextField label="Name" maxLength={100} error={form.errorOf('name')} {...form.register('name', { required: 'Enter a name.' })} />
      <Controller
        control={form.control}
        name="scopes"
        rules={scopeRules}
        render={({ field }) => <ScopesField {...field} error={form.errorOf('scopes')} />}
      />
    </FormDialog>
  );
}
