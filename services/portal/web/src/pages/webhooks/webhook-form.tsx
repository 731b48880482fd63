import type { Webhook } from '@agent-service/client';
import { useState } from 'react';
import { Controller } from 'react-hook-form';
import { api, bodyOf } from '../../api/client.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { CheckGroup, changesOf, SwitchField, TextField, useApiForm } from '../../ui/form.tsx';

type EventType = Webhook['events'][number];

/** The meaning of each event for people. An event without a text does not compile. */
const events: Record<EventType, string> = {
  'agent.created': 'An agent was created',
  'agent.updated': 'An agent was changed',
  'agent.deleted': 'An agent was deleted',
  'conversation.completed': 'A message was answered',
  'credits.low_balance': 'The balance fell below the warning level',
  'credits.depleted': 'The balance reached zero',
  'credits.replenished': 'Credits were added',
  'user.registered': 'A user was registered',
  'user.deactivated': 'A user was deactivated',
};
const eventTypes = Object.keys(events) as EventType[];

interface FormProps {
  webhook?: Webhook;
  onClose: () => void;
  /** Gets the secret of a new webhook. */
  onSaved: (secret?: string) => Promise<void>;
}

export function WebhookForm({ webhook, onClose, onSaved }: FormProps) {
  const environment = useEnvironment();
  // The webhook may be read again while the dialog is open.
  const [defaults] = useState({
    url: webhook?.url ?? '',
    description: webhook?.description ?? '',
    events: (webhook?.events ?? []) as EventType[],
    active: webhook?.active ?? true,
  });
  const form = useApiForm(defaults, async (values, key) => {
    if (!webhook) {
      const { data } = await bodyOf(api(environment).POST('/v1/webhooks', { body: values, headers: { 'Idempotency-Key': key } }));
      return onSaved(data.secret);
    }
    const body = changesOf(defaults, values);
    await bodyOf(api(environment).PATCH('/v1/webhooks/{webhook_id}', { params: { path: { webhook_id: webhook.id } }, body }));
    return onSaved();
  });
  return (
    <FormDialog
      title={webhook ? 'Edit the webhook' : 'Add a webhook'}
      wide
      onClose={onClose}
      form={form}
      action={webhook ? 'Save' : 'Add the webhook'}
    >
      <TextField
        label="Address"
        type="url"
        placeholder="https://hooks.example.com/agent-service"
        error={form.errorOf('url')}
        {...form.register('url', { required: 'Enter an HTTPS address.' })}
      />
      <TextField label="Description" optional error={form.errorOf('description')} {...form.register('description')} />
      <Controller
        control={form.control}
        name="events"
        rules={{ validate: (value) => value.length > 0 || 'Choose at least one event.' }}
        render={({ field }) => <CheckGroup label="Events" names={eventTypes} hints={events} {...field} error={form.errorOf('events')} />}
      />
      {webhook && (
        <SwitchField
          control={form.control}
          name="active"
          label="Active"
          hint="Switched on again, a failing or disabled webhook is healthy."
        />
      )}
    </FormDialog>
  );
}
