import type { Webhook, WebhookDelivery } from '@agent-service/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { Pencil, RefreshCw, RotateCw, Send, Trash2, Webhook as WebhookIcon } from 'lucide-react';
import { useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import { ApiError, isLost } from '../../api/errors.ts';
import { readAll } from '../../api/pages.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { ActionButton, Button } from '../../ui/button.tsx';
import { ConfirmDialog, FormDialog, Menu, SecretDialog } from '../../ui/dialog.tsx';
import { Badge, Empty, Loading, Notice, notify, notifyFailure, type Tone } from '../../ui/feedback.tsx';
import { TextField, useApiForm } from '../../ui/form.tsx';
import { capitalize, formatDateTime, formatNumber, plural, Time } from '../../ui/format.tsx';
import { BackIcon, FailedPage, Page, Section } from '../../ui/page.tsx';
import { type Column, Table, useCursorList } from '../../ui/table.tsx';
import { WebhookForm } from './webhook-form.tsx';
import { WebhookStatus } from './webhooks.tsx';

type Open = 'edit' | 'rotate' | 'delete' | { secret: string };

export function WebhookPage() {
  const environment = useEnvironment();
  const { webhookId = '' } = useParams({ strict: false });
  // The API lists webhooks and has no way to read one.
  const { data, error, refetch } = useQuery({
    queryKey: [environment, 'webhooks', 'one', webhookId],
    queryFn: async ({ signal }) => {
      const read = (cursor: string | undefined) =>
        bodyOf(api(environment).GET('/v1/webhooks', { params: { query: { limit: 100, ...(cursor && { cursor }) } }, signal }));
      for await (const page of readAll(read, signal)) {
        const match = page.data.find(({ id }) => id === webhookId);
        if (match) return match;
      }
      throw new ApiError(404, { error: { message: 'There is no such webhook.' } });
    },
  });
  if (isLost(error, data)) return <FailedPage title="Webhook" cause={error} onRetry={() => void refetch()} />;
  return data ? <WebhookView webhook={data} /> : <Loading />;
}

function WebhookView({ webhook }: { webhook: Webhook }) {
  const environment = useEnvironment();
  const client = useQueryClient();
  const [open, setOpen] = useState<Open>();
  const changed = () => client.invalidateQueries({ queryKey: [environment, 'webhooks'] });
  const test = () =>
    bodyOf(api(environment).POST('/v1/webhooks/{webhook_id}/test', { params: { path: { webhook_id: webhook.id } } }))
      .then(() => notify('A test event is on its way.'))
      .then(changed)
      .catch(notifyFailure);
  return (
    <Page
      title={webhook.url}
      description={webhook.description}
      heading={
        <>
          {webhook.url} <WebhookStatus webhook={webhook} />
        </>
      }
      back={
        <Link to="/$environment/webhooks" params={{ environment }} className="breadcrumb">
          <BackIcon /> Webhooks
        </Link>
      }
      actions={
        <>
          <ActionButton icon={Send} onClick={test}>
            Send a test event
          </ActionButton>
          <Menu
            label="Actions of the webhook"
            items={[
              { label: 'Edit', icon: Pencil, onSelect: () => setOpen('edit') },
              { label: 'Replace the secret', icon: RefreshCw, onSelect: () => setOpen('rotate') },
              'line',
              { label: 'Delete', icon: Trash2, danger: true, onSelect: () => setOpen('delete') },
            ]}
          />
        </>
      }
    >
      <div className="stack loose">
        {webhook.status === 'disabled' && (
          <Notice tone="danger">
            It was disabled: its deliveries failed for seven days, or your server answered 410 Gone. Edit it and switch it on when your
            server is back.
          </Notice>
        )}
        {webhook.status === 'failing' && (
          <Notice tone="warning">
            Deliveries have failed since <Time iso={webhook.failing_since} />.
          </Notice>
        )}
        <ul className="chips" aria-label="Events">
          {webhook.events.map((event) => (
            <li key={event} className="chip mono small">
              {event}
            </li>
          ))}
        </ul>
        <Deliveries webhook={webhook} />
      </div>
      <Dialogs webhook={webhook} open={open} onOpen={setOpen} onChanged={changed} />
    </Page>
  );
}

interface DialogsProps {
  webhook: Webhook;
  open: Open | undefined;
  onOpen: (open: Open | undefined) => void;
  onChanged: () => Promise<unknown>;
}

function Dialogs({ webhook, open, onOpen, onChanged }: DialogsProps) {
  const environment = useEnvironment();
  const navigate = useNavigate();
  const params = { path: { webhook_id: webhook.id } };
  const close = () => onOpen(undefined);
  if (open === 'edit')
    return (
      <WebhookForm
        webhook={webhook}
        onClose={close}
        onSaved={async () => {
          await onChanged();
          notify('The changes are saved.');
          close();
        }}
      />
    );
  if (open === 'rotate') return <ReplaceSecret webhook={webhook} onClose={close} onReplaced={(secret) => onOpen({ secret })} />;
  if (open === 'delete')
    return (
      <ConfirmDialog
        title="Delete this webhook?"
        action="Delete the webhook"
        name={new URL(webhook.url).host}
        onConfirm={async () => {
          await api(environment).DELETE('/v1/webhooks/{webhook_id}', { params });
          notify('The webhook was deleted.');
          await navigate({ to: '/$environment/webhooks', params: { environment } });
          await onChanged();
        }}
        onClose={close}
      >
        Deliveries that wait for it are dropped. This cannot be undone.
      </ConfirmDialog>
    );
  if (open)
    return (
      <SecretDialog
        title="The secret is replaced"
        description="For 24 hours webhook-signature has a signature of each secret; X-Service-Signature is made with the new one. Copy it now: it will not be shown again."
        secrets={[{ label: 'Signing secret', value: open.secret }]}
        onClose={close}
      />
    );
  return null;
}

interface ReplaceProps {
  webhook: Webhook;
  onClose: () => void;
  onReplaced: (secret: string) => void;
}

function ReplaceSecret({ webhook, onClose, onReplaced }: ReplaceProps) {
  const environment = useEnvironment();
  const form = useApiForm({ secret: '' }, async ({ secret }, key) => {
    const body = { ...(secret && { secret }) };
    const sent = { params: { path: { webhook_id: webhook.id } }, body, headers: { 'Idempotency-Key': key } };
    const { data } = await bodyOf(api(environment).POST('/v1/webhooks/{webhook_id}/rotate-secret', sent));
    onReplaced(data.secret);
  });
  return (
    <FormDialog
      title="Replace the signing secret?"
      description="For 24 hours webhook-signature has a signature of each secret. X-Service-Signature is made with the new one at once: a server that verifies only this header has to know it before."
      onClose={onClose}
      form={form}
      action="Replace the secret"
    >
      <TextField
        label="New secret"
        hint="16 to 255 characters. Empty: one is generated."
        optional
        maxLength={255}
        className="input mono"
        error={form.errorOf('secret')}
        {...form.register('secret')}
      />
    </FormDialog>
  );
}

function Deliveries({ webhook }: { webhook: Webhook }) {
  const environment = useEnvironment();
  const client = useQueryClient();
  const path = { webhook_id: webhook.id };
  const key = [environment, 'webhooks', 'deliveries', webhook.id];
  const list = useCursorList(
    key,
    (cursor) =>
      bodyOf(
        api(environment).GET('/v1/webhooks/{webhook_id}/deliveries', { params: { path, query: { limit: 50, ...(cursor && { cursor }) } } }),
      ),
    isDueSoon,
  );
  const redeliver = ({ id }: WebhookDelivery) =>
    bodyOf(
      api(environment).POST('/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver', {
        params: { path: { ...path, delivery_id: id } },
      }),
    )
      .then(() => notify('The event is sent again.'))
      .then(() => client.invalidateQueries({ queryKey: key }))
      .catch(notifyFailure);
  return (
    <Section
      title="Deliveries"
      description="Kept for 30 days."
      actions={
        <Button icon={RotateCw} onClick={list.refetch}>
          Refresh
        </Button>
      }
    >
      <Table
        label="Deliveries"
        columns={columns}
        rows={list.rows}
        isLoading={list.isLoading}
        rowKey={({ id }) => id}
        failure={list.failure}
        onRetry={list.refetch}
        actions={(delivery) => (
          <ActionButton variant="ghost" icon={Send} aria-label={`Send ${delivery.event_type} again`} onClick={() => redeliver(delivery)} />
        )}
        empty={
          <Empty icon={WebhookIcon} title="No deliveries yet">
            Send a test event to see what your server gets.
          </Empty>
        }
      />
      {list.pager}
    </Section>
  );
}

const soonMs = 10_000;
const isDueSoon = ({ status, next_attempt_at: next }: WebhookDelivery): boolean =>
  status === 'pending' && (next === null || Date.parse(next) < Date.now() + soonMs);

/** Why a server did not answer, in words. */
const failures: Readonly<Record<string, string>> = {
  timeout: 'No answer in time',
  connect_timeout: 'No connection in time',
  name_not_found: 'Unknown host name',
  address_refused: 'Address not allowed',
  tls: 'TLS failed',
  protocol: 'Not an HTTP answer',
  connection: 'Connection failed',
};

const resultOf = ({ status, error }: WebhookDelivery['attempts'][number]) => status ?? (error && (failures[error] ?? error)) ?? '–';

const tones: Record<WebhookDelivery['status'], Tone> = { pending: 'warning', delivered: 'success', failed: 'danger', dropped: 'neutral' };

const columns: Column<WebhookDelivery>[] = [
  {
    id: 'event',
    header: 'Event',
    cell: (delivery) => (
      <>
        <div className="mono truncate">{delivery.event_type}</div>
        <div className="cell-note mono truncate">{delivery.event_id}</div>
        {delivery.attempts.length > 0 && <Attempts delivery={delivery} />}
      </>
    ),
  },
  { id: 'status', header: 'Status', width: '8rem', cell: ({ status }) => <Badge tone={tones[status]}>{capitalize(status)}</Badge> },
  {
    id: 'reply',
    header: 'Reply',
    width: '14rem',
    cell: ({ attempts, next_attempt_at: next }) => {
      const last = attempts.at(-1);
      if (!last) return next ? 'On its way' : '–';
      return (
        <>
          <div className="truncate">{resultOf(last)}</div>
          {next && (
            <div className="cell-note truncate">
              Next attempt <Time iso={next} />
            </div>
          )}
        </>
      );
    },
  },
  { id: 'created', header: 'Created', width: '9rem', cell: ({ created_at: iso }) => <Time iso={iso} /> },
];

function Attempts({ delivery: { attempts, response_body: body } }: { delivery: WebhookDelivery }) {
  return (
    <details className="cell-details">
      <summary className="cell-note">{plural(attempts.length, 'attempt')}</summary>
      <ol className="stack tight">
        {attempts.map((attempt) => (
          <li key={attempt.at} className="small">
            {formatDateTime(attempt.at)} · {resultOf(attempt)} · {formatNumber(attempt.duration_ms)} ms
          </li>
        ))}
      </ol>
      {body && (
        <pre className="wrap" dir="auto">
          {body}
        </pre>
      )}
    </details>
  );
}
