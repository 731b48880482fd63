import type { OAuthApplication } from '@agent-service/client';
import { useQueryClient } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { AppWindow, Pencil, Plus, RefreshCw, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Controller } from 'react-hook-form';
import { api, bodyOf } from '../../api/client.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog, FormDialog, Menu, SecretDialog } from '../../ui/dialog.tsx';
import { Empty, notify } from '../../ui/feedback.tsx';
import { changesOf, TextField, useApiForm } from '../../ui/form.tsx';
import { Time } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';
import { type Column, FilterSelect, Table, useCursorList } from '../../ui/table.tsx';
import { CredentialStatus, statusOptions } from './keys.tsx';
import { RotateDialog } from './rotate.tsx';
import { allScopes, type Scope, ScopesField, scopeRules, summarizeScopes } from './scopes.tsx';
import { UserField } from './user-field.tsx';

type Secret = { kind: 'secret'; title: string; id: string; secret: string };
type Acting = { kind: 'edit' | 'rotate' | 'revoke'; application: OAuthApplication } | { kind: 'create' } | Secret;

export function ApplicationsPage() {
  const environment = useEnvironment();
  const client = useQueryClient();
  const { status } = useSearch({ strict: false });
  const [acting, setActing] = useState<Acting>();
  const filter = status ? { status: status as OAuthApplication['status'] } : {};
  const list = useCursorList([environment, 'applications', filter], (cursor) =>
    bodyOf(api(environment).GET('/v1/oauth-applications', { params: { query: { limit: 50, ...(cursor && { cursor }), ...filter } } })),
  );
  const changed = () => client.invalidateQueries({ queryKey: [environment, 'applications'] });
  const create = (
    <Button variant="primary" icon={Plus} onClick={() => setActing({ kind: 'create' })}>
      Register an application
    </Button>
  );
  return (
    <Page
      title="OAuth applications"
      description={`Programs that get short-lived tokens with a client id and secret, in the ${environment} environment.`}
      actions={create}
    >
      <div className="filters">
        <FilterSelect name="status" label="Status" all="Every status" options={statusOptions} />
      </div>
      <Table
        label="OAuth applications"
        columns={columns}
        rows={list.rows}
        isLoading={list.isLoading}
        rowKey={({ id }) => id}
        failure={list.failure}
        onRetry={list.refetch}
        actions={(application) =>
          application.status === 'active' ? <ApplicationMenu application={application} onAct={setActing} /> : null
        }
        empty={
          <Empty icon={AppWindow} title="No applications" actions={create}>
            Register an application for a program that supports the OAuth 2.0 client credentials flow.
          </Empty>
        }
      />
      {list.pager}
      <Dialogs
        acting={acting}
        onClose={() => setActing(undefined)}
        onChanged={changed}
        // Nothing may keep the secret from being shown, as a list that cannot be read.
        onSecret={(secret) => {
          setActing(secret);
          void changed();
        }}
      />
    </Page>
  );
}

const columns: Column<OAuthApplication>[] = [
  {
    id: 'name',
    header: 'Application',
    cell: ({ name, id }) => (
      <>
        <div className="cell-title truncate" dir="auto">
          {name || 'Unnamed'}
        </div>
        <div className="cell-note mono truncate">{id}</div>
      </>
    ),
  },
  {
    id: 'scopes',
    header: 'Scopes',
    width: '16rem',
    cell: ({ scopes }) => (
      <div className="cell-note truncate" title={scopes.join(', ')}>
        {summarizeScopes(scopes)}
      </div>
    ),
  },
  { id: 'used', header: 'Last used', width: '8.5rem', cell: ({ last_used_at: iso }) => <Time iso={iso} fallback="Never" /> },
  { id: 'status', header: 'Status', width: '8.5rem', cell: (application) => <CredentialStatus {...application} /> },
];

function ApplicationMenu({ application, onAct }: { application: OAuthApplication; onAct: (acting: Acting) => void }) {
  return (
    <Menu
      label={`Actions of ${application.name || application.id}`}
      items={[
        { label: 'Edit', icon: Pencil, onSelect: () => onAct({ kind: 'edit', application }) },
        { label: 'Replace the secret', icon: RefreshCw, onSelect: () => onAct({ kind: 'rotate', application }) },
        'line',
        { label: 'Revoke', icon: Trash2, danger: true, onSelect: () => onAct({ kind: 'revoke', application }) },
      ]}
    />
  );
}

interface DialogsProps {
  acting: Acting | undefined;
  onClose: () => void;
  onChanged: () => Promise<unknown>;
  onSecret: (secret: Secret) => void;
}

function Dialogs({ acting, onClose, onChanged, onSecret }: DialogsProps) {
  const environment = useEnvironment();
  switch (acting?.kind) {
    case 'create':
    case 'edit':
      return (
        <ApplicationForm
          application={acting.kind === 'edit' ? acting.application : undefined}
          onClose={onClose}
          onChanged={onChanged}
          onSecret={onSecret}
        />
      );
    case 'rotate':
      return (
        <RotateDialog
          title="Replace the secret?"
          subject={acting.application.name || acting.application.id}
          onClose={onClose}
          onRotate={async (seconds, key) => {
            const params = { path: { application_id: acting.application.id } };
            const body = { previous_valid_seconds: seconds };
            const sent = { params, body, headers: { 'Idempotency-Key': key } };
            const { data } = await bodyOf(api(environment).POST('/v1/oauth-applications/{application_id}/rotate', sent));
            onSecret({ kind: 'secret', title: 'The secret is replaced', id: data.id, secret: data.client_secret });
          }}
        />
      );
    case 'revoke':
      return <Revoke application={acting.application} onClose={onClose} onChanged={onChanged} />;
    case 'secret':
      return (
        <SecretDialog
          title={acting.title}
          description="Copy the secret now: it is not stored, and will not be shown again."
          secrets={[
            { label: 'Client id', value: acting.id },
            { label: 'Client secret', value: acting.secret },
          ]}
          onClose={onClose}
        />
      );
    default:
      return null;
  }
}

function Revoke({ application, onClose, onChanged }: { application: OAuthApplication } & Pick<DialogsProps, 'onClose' | 'onChanged'>) {
  const environment = useEnvironment();
  const revoke = async () => {
    const path = { application_id: application.id };
    await api(environment).DELETE('/v1/oauth-applications/{application_id}', { params: { path } });
    notify('The application was revoked.');
    await onChanged();
  };
  return (
    <ConfirmDialog
      title="Revoke this application?"
      action="Revoke the application"
      name={application.name || application.id}
      onConfirm={revoke}
      onClose={onClose}
    >
      Its secrets and tokens are refused at once. This cannot be undone.
    </ConfirmDialog>
  );
}

interface FormProps extends Omit<DialogsProps, 'acting'> {
  application: OAuthApplication | undefined;
}

function ApplicationForm({ application, onClose, onChanged, onSecret }: FormProps) {
  const environment = useEnvironment();
  const scopes: Scope[] = application ? allScopes.filter((scope) => application.scopes.includes(scope)) : ['agents:read', 'agents:chat'];
  const defaults = { name: application?.name ?? '', user_id: '', scopes };
  const form = useApiForm(defaults, async (values, key) => {
    if (application) {
      const path = { application_id: application.id };
      const body = changesOf(defaults, values);
      await bodyOf(api(environment).PATCH('/v1/oauth-applications/{application_id}', { params: { path }, body }));
      await onChanged();
      notify('The changes are saved.');
      onClose();
      return;
    }
    const { user_id: userId, ...rest } = values;
    const body = { ...rest, ...(userId && { user_id: userId }) };
    const { data } = await bodyOf(api(environment).POST('/v1/oauth-applications', { body, headers: { 'Idempotency-Key': key } }));
    onSecret({ kind: 'secret', title: 'The application is registered', id: data.id, secret: data.client_secret });
  });
  return (
    <FormDialog
      title={application ? 'Edit the application' : `Register a ${environment} application`}
      wide
      onClose={onClose}
      form={form}
      action={application ? 'Save' : 'Register'}
    >
      <TextField label="Name" maxLength={100} error={form.errorOf('name')} {...form.register('name', { required: 'Enter a name.' })} />
      {!application && (
        <UserField
          none={environment === 'live' ? 'A service user of its own' : 'Choose a user'}
          error={form.errorOf('user_id')}
          {...form.register('user_id', { validate: (id) => environment === 'live' || id !== '' || 'Choose a user.' })}
        />
      )}
      <Controller
        control={form.control}
        name="scopes"
        rules={scopeRules}
        render={({ field }) => <ScopesField {...field} error={form.errorOf('scopes')} />}
      />
    </FormDialog>
  );
}
