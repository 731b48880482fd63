import { useMutation, useQueryClient } from '@tanstack/react-query';
import { PlugZap } from 'lucide-react';
import { useState } from 'react';
import type { UseFormReturn } from 'react-hook-form';
import { messageOf } from '../../api/errors.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { Button } from '../../ui/button.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Notice, notify } from '../../ui/feedback.tsx';
import { Segmented } from '../../ui/filters.tsx';
import { SelectField, TextAreaField, TextField, useApiForm } from '../../ui/form.tsx';
import { plural } from '../../ui/format.tsx';
import {
  type Connection,
  type ConnectionInput,
  connect,
  encryptionOf,
  encryptions,
  type TestedConnection,
  testConnection,
  urlOf,
} from './connection-data.ts';

const ways = [
  { id: 'fields', label: 'Fields' },
  { id: 'url', label: 'Connection URL' },
] as const;

type Way = (typeof ways)[number]['id'];

const valuesOf = (connection: Connection | null | undefined) => ({
  host: connection?.host ?? '',
  port: String(connection?.port ?? 5432),
  database: connection?.database ?? '',
  user: connection?.user ?? '',
  password: '',
  sslmode: encryptionOf(connection)?.sslmode ?? 'verify-full',
  url: '',
  ca_certificate: '',
});

type Values = ReturnType<typeof valuesOf>;

const inputOf = (way: Way, values: Values): ConnectionInput => ({
  url: way === 'url' ? values.url.trim() : urlOf(values),
  ca_certificate: values.ca_certificate,
});

/** Connects a database, in place of the connected one if there is one. */
export function ConnectDialog({ connection, onClose }: { connection: Connection | null | undefined; onClose: () => void }) {
  const environment = useEnvironment();
  const client = useQueryClient();
  const [way, setWay] = useState<Way>('fields');
  const test = useMutation({ mutationFn: (input: ConnectionInput) => testConnection(environment, input) });
  const form = useApiForm<Values>(
    valuesOf(connection),
    async (values) => {
      test.reset();
      await connect(environment, inputOf(way, values));
      await client.invalidateQueries({ queryKey: [environment, 'data-source'] });
      notify('The database is connected.');
      onClose();
    },
    (param) => (param === 'url' && way === 'fields' ? '' : param),
  );
  const input = inputOf(way, form.watch());
  const isTested = test.variables?.url === input.url && test.variables.ca_certificate === input.ca_certificate;
  return (
    <FormDialog
      title={connection ? 'Replace the database' : 'Connect a database'}
      description="Use an account that can only read what agents may see. The password is stored encrypted and never shown again."
      onClose={onClose}
      form={form}
      action={connection ? 'Replace' : 'Connect'}
      more={
        <Button icon={PlugZap} busy={test.isPending} onClick={form.handleSubmit((values) => test.mutate(inputOf(way, values)))}>
          Test
        </Button>
      }
    >
      <div>
        <Segmented label="How to enter the connection" options={ways} value={way} onChange={setWay} />
      </div>
      {way === 'url' ? (
        <TextField
          label="Connection URL"
          hint="postgres://user:password@db.example.com:5432/erp?sslmode=verify-full"
          error={form.errorOf('url')}
          className="input mono"
          type="password"
          autoComplete="off"
          {...form.register('url', { required: 'Enter the URL.' })}
        />
      ) : (
        <AddressFields form={form} />
      )}
      <AuthorityField form={form} />
      {isTested && <TestOutcome {...test} />}
    </FormDialog>
  );
}

interface AddressForm extends UseFormReturn<Values> {
  errorOf: (name: keyof Values) => string | undefined;
}

function AddressFields({ form }: { form: AddressForm }) {
  const { register, errorOf } = form;
  return (
    <>
      <div className="columns host">
        <TextField label="Host" placeholder="db.example.com" error={errorOf('host')} {...register('host', { required: 'Enter a host.' })} />
        <TextField
          label="Port"
          inputMode="numeric"
          error={errorOf('port')}
          {...register('port', { pattern: { value: /^\d{1,5}$/, message: 'Enter a number.' } })}
        />
      </div>
      <TextField label="Database" error={errorOf('database')} {...register('database', { required: 'Enter the name of the database.' })} />
      <div className="columns">
        <TextField label="User" error={errorOf('user')} {...register('user', { required: 'Enter a user.' })} />
        <TextField label="Password" type="password" autoComplete="new-password" error={errorOf('password')} {...register('password')} />
      </div>
      <SelectField label="Encryption" error={errorOf('sslmode')} {...register('sslmode')}>
        {encryptions.map(({ sslmode, label }) => (
          <option key={sslmode} value={sslmode}>
            {label}
          </option>
        ))}
      </SelectField>
    </>
  );
}

function AuthorityField({ form }: { form: AddressForm }) {
  return (
    <TextAreaField
      label="Certificate authority"
      optional
      hint="PEM of the authority of the server’s certificate, if it is your own. TLS is then demanded and verified."
      error={form.errorOf('ca_certificate')}
      className="textarea mono"
      rows={2}
      {...form.register('ca_certificate')}
    />
  );
}

interface OutcomeProps {
  data: TestedConnection | undefined;
  error: Error | null;
}

export function TestOutcome({ data, error }: OutcomeProps) {
  if (error) return <Notice tone="danger">{messageOf(error)}</Notice>;
  if (!data) return null;
  const { server_version: version, tables, duration_ms: ms } = data;
  return (
    <div role="status">
      <Notice tone="success">
        PostgreSQL {version} answers in {ms} ms; the account can read {plural(tables, 'table')}.
      </Notice>
    </div>
  );
}
