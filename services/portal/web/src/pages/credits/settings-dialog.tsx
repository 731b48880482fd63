import type { CreditSettings } from '@agent-service/client';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { notify } from '../../ui/feedback.tsx';
import { changesOf, SwitchField, TextField, useApiForm } from '../../ui/form.tsx';

const valuesOf = (settings: CreditSettings) => ({
  auto_replenish: settings.auto_replenish,
  replenish_threshold: String(settings.replenish_threshold),
  replenish_amount: String(settings.replenish_amount),
  low_balance_threshold: String(settings.low_balance_threshold ?? ''),
  default_monthly_limit: String(settings.default_monthly_limit),
});

const bodyFrom = (values: ReturnType<typeof valuesOf>) => ({
  auto_replenish: values.auto_replenish,
  replenish_threshold: Number(values.replenish_threshold),
  replenish_amount: Number(values.replenish_amount),
  low_balance_threshold: values.low_balance_threshold === '' ? null : Number(values.low_balance_threshold),
  default_monthly_limit: Number(values.default_monthly_limit),
});

const required = { required: 'Enter a number.' };

export function SettingsDialog({ settings, onClose }: { settings: CreditSettings; onClose: () => void }) {
  const environment = useEnvironment();
  const client = useQueryClient();
  // The settings may be read again while the dialog is open.
  const [defaults] = useState(() => valuesOf(settings));
  const form = useApiForm(defaults, async (values) => {
    const body = changesOf(bodyFrom(defaults), bodyFrom(values));
    await bodyOf(api(environment).PATCH('/v1/credits/settings', { body }));
    await client.invalidateQueries({ queryKey: [environment, 'credits'] });
    notify('The settings are saved.');
    onClose();
  });
  const number = { inputMode: 'numeric', type: 'number', min: 0 } as const;
  return (
    <FormDialog title="Credit settings" onClose={onClose} form={form} action="Save">
      <TextField
        label="Monthly limit of new users"
        hint="For users without an allocation of their own."
        error={form.errorOf('default_monthly_limit')}
        {...number}
        {...form.register('default_monthly_limit', required)}
      />
      <TextField
        label="Warn below this balance"
        hint="Empty: a tenth of the last purchase."
        error={form.errorOf('low_balance_threshold')}
        {...number}
        {...form.register('low_balance_threshold')}
      />
      <SwitchField
        control={form.control}
        name="auto_replenish"
        label="Replenish automatically"
        hint="Adds credits when the balance falls below a level."
      />
      <div className="columns">
        <TextField
          label="Below this balance"
          error={form.errorOf('replenish_threshold')}
          {...number}
          {...form.register('replenish_threshold', required)}
        />
        <TextField
          label="Add this many"
          error={form.errorOf('replenish_amount')}
          {...number}
          {...form.register('replenish_amount', required)}
        />
      </div>
    </FormDialog>
  );
}
