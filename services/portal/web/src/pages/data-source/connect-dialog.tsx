import { useQueryClient } from '@tanstack/react-query';
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
import { type Connection, connect, sslmodeOf, type TestedConnection, testConnection, urlOf } from './connection-data.ts';

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
  sslmode: sslmodeOf(connection?.tls),
  url: '',
  ca_certificate: '',
});

type Values = ReturnType<typeof valuesOf>;
type Tested = { result?: TestedConnection; failure?: string };

const inputOf = (way: Way, values: Values) => ({
  url: way === 'url' ? values.url.trim() : urlOf(values),
  ca_certificate: values.ca_certificate,
});

/** Connects a database, in place of the connected one if there is one. */
export function ConnectDialog({ connection, onClose }: { connection: Connection | null | undefined; onClose: () => void }) {
  const environment = useEnvironment();
  const client = useQueryClient();
  const [way, setWay] = useState<Way>('fields');
  const [tested, setTested] = useState<Tested>();
  const [isTesting, setTesting] = useState(false);
  const form = useApiForm<Values>(
    valuesOf(connection),
    async (values) => {
      setTested(undefined);
      await connect(environment, inputOf(way, values));
      await client.invalidateQueries({ queryKey: [environment, 'data-source'] });
      notify('The database is connected.');
      onClose();
    },
    (param) => (param === 'url' && way === 'fields' ? '' : param),
  );
  const test = form.handleSubmit(async (values) => {
    setTesting(true);
    setTested(
      await testConnection(environment, inputOf(way, values)).then(
        (result) => ({ result }),
        (cause: unknown) => ({ failure: messageOf(cause) }),
      ),
    );
    setTesting(false);
  });
  return (
    <FormDialog
      title={connection ? 'Replace the database' : 'Connect a database'}
      description="Use an account that can only read what agents may see. The password is stored encrypted and never shown again."
      onClose={onClose}
      form={form}
      action={connection ? 'Replace' : 'Connect'}
      more={
        <Button icon={PlugZap} busy={isTesting} onClick={() => void test()}>
          Test
        </Button>
      }
    >
      <WaySwitch way={way} onChange={setWay} />
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
      <TestOutcome tested={tested} />
    </FormDialog>
  );
}

function WaySwitch({ way, onChange }: { way: Way; onChange: (way: Way) => void }) {
  return (
    <div>
      <Segmented label="How to enter the connection" options={ways} value={way} onChange={onChange} />
    </div>
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
        <option value="verify-full">TLS, certificate and host name verified</option>
        <option value="verify-ca">TLS, certificate verified</option>
        <option value="require">TLS, certificate not verified</option>
        <option value="disable">None</option>
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

export function TestOutcome({ tested }: { tested: Tested | undefined }) {
  if (tested?.failure) return <Notice tone="danger">{tested.failure}</Notice>;
  if (!tested?.result) return null;
  const { server_version: version, tables, duration_ms: ms } = tested.result;
  return (
    <div role="status">
      <Notice tone="success">
        PostgreSQL {version} answers in {ms} ms; the account can read {plural(tables, 'table')}.
      </Notice>
    </div>
  );
}
