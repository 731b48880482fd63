import type { Webhook } from '@agent-service/client';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Plus, Webhook as WebhookIcon } from 'lucide-react';
import { useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { Button } from '../../ui/button.tsx';
import { SecretDialog } from '../../ui/dialog.tsx';
import { Badge, Empty, type Tone } from '../../ui/feedback.tsx';
import { plural, Time } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';
import { type Column, Table, useCursorList } from '../../ui/table.tsx';
import { WebhookForm } from './webhook-form.tsx';

export function WebhooksPage() {
  const environment = useEnvironment();
  const client = useQueryClient();
  const [isCreating, setCreating] = useState(false);
  const [secret, setSecret] = useState<string>();
  const list = useCursorList([environment, 'webhooks'], (cursor) =>
    bodyOf(api(environment).GET('/v1/webhooks', { params: { query: { limit: 50, ...(cursor && { cursor }) } } })),
  );
  const create = (
    <Button variant="primary" icon={Plus} onClick={() => setCreating(true)}>
      Add a webhook
    </Button>
  );
  return (
    <Page title="Webhooks" description="Your server is told of events by a signed HTTP request." actions={create}>
      <Table
        label="Webhooks"
        columns={columns}
        rows={list.rows}
        isLoading={list.isLoading}
        rowKey={({ id }) => id}
        linked
        failure={list.failure}
        onRetry={list.refetch}
        empty={
          <Empty icon={WebhookIcon} title="No webhooks" actions={create}>
            Add the HTTPS address of a server of yours, and choose the events that it should get.
          </Empty>
        }
      />
      {list.pager}
      {isCreating && (
        <WebhookForm
          onClose={() => setCreating(false)}
          // Nothing may keep the secret from being shown, as a list that cannot be read.
          onSaved={async (created) => {
            setCreating(false);
            setSecret(created);
            void client.invalidateQueries({ queryKey: [environment, 'webhooks'] });
          }}
        />
      )}
      {secret && (
        <SecretDialog
          title="The webhook is added"
          description="Deliveries are signed with this secret. Copy it now: it will not be shown again."
          secrets={[{ label: 'Signing secret', value: secret }]}
          onClose={() => setSecret(undefined)}
        />
      )}
    </Page>
  );
}

const columns: Column<Webhook>[] = [
  { id: 'url', header: 'Address', cell: (webhook) => <AddressCell webhook={webhook} /> },
  {
    id: 'events',
    header: 'Events',
    width: '8rem',
    cell: ({ events }) => <span title={events.join(', ')}>{plural(events.length, 'event')}</span>,
  },
  { id: 'status', header: 'Status', width: '8rem', cell: (webhook) => <WebhookStatus webhook={webhook} /> },
  { id: 'last', header: 'Last delivery', width: '9rem', cell: ({ last_delivery_at: iso }) => <Time iso={iso} fallback="Never" /> },
];

function AddressCell({ webhook: { id, url, description } }: { webhook: Webhook }) {
  const environment = useEnvironment();
  return (
    <>
      <Link to="/$environment/webhooks/$webhookId" params={{ environment, webhookId: id }} className="row-link cell-title" preload={false}>
        <div className="truncate">{url}</div>
      </Link>
      {description && (
        <div className="cell-note truncate" dir="auto">
          {description}
        </div>
      )}
    </>
  );
}

const tones: Record<Webhook['status'], Tone> = { healthy: 'success', failing: 'warning', disabled: 'danger' };
const labels: Record<Webhook['status'], string> = { healthy: 'Healthy', failing: 'Failing', disabled: 'Disabled' };

export function WebhookStatus({ webhook: { active, status } }: { webhook: Webhook }) {
  if (!active && status === 'healthy') return <Badge>Paused</Badge>;
  return <Badge tone={tones[status]}>{labels[status]}</Badge>;
}
