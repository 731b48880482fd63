import type { Agent } from '@agent-service/client';
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { Plus, X } from 'lucide-react';
import { useEffect, useEffectEvent, useRef } from 'react';
import { Controller, type UseFormReturn } from 'react-hook-form';
import { api, bodyOf, type Environment } from '../../api/client.ts';
import { ApiError } from '../../api/errors.ts';
import { takeUnsent, watchUnsent } from '../../api/unsent.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Loading, notify } from '../../ui/feedback.tsx';
import { changesOf, ErrorText, SelectField, SwitchField, TextAreaField, TextField, useApiForm } from '../../ui/form.tsx';
import { useQuestionBeforeLeaving } from '../../ui/leaving.ts';
import { BackIcon, FailedPage, Page, Section } from '../../ui/page.tsx';
import { tiers } from '../credits/usage-groups.ts';
import { formats } from './agent-parts.tsx';
import { ScopePicker } from './scope-picker.tsx';

interface AgentValues {
  name: string;
  description: string;
  category: string;
  model: Agent['model'];
  system_prompt: string;
  tables: string[];
  read_only: boolean;
  welcome_message: string;
  suggested_prompts: string[];
  default_format: Agent['output_preferences']['default_format'];
  chart_enabled: boolean;
}

const blank: AgentValues = {
  name: '',
  description: '',
  category: '',
  model: 'Fast',
  system_prompt: '',
  tables: [],
  read_only: true,
  welcome_message: '',
  suggested_prompts: [],
  default_format: 'markdown',
  chart_enabled: true,
};

const valuesOf = ({ data_scope: scope, output_preferences: output, ...agent }: Agent): AgentValues => ({ ...agent, ...scope, ...output });

const bodyFrom = (values: AgentValues) => ({
  name: values.name,
  description: values.description,
  category: values.category,
  model: values.model,
  system_prompt: values.system_prompt,
  data_scope: { tables: values.tables, read_only: values.read_only },
  welcome_message: values.welcome_message,
  suggested_prompts: values.suggested_prompts.filter((prompt) => prompt.trim() !== ''),
  output_preferences: { default_format: values.default_format, chart_enabled: values.chart_enabled },
});

export function NewAgentPage() {
  const environment = useEnvironment();
  const client = useQueryClient();
  const create = async (values: AgentValues, key: string) => {
    const { data } = await bodyOf(api(environment).POST('/v1/agents', { body: bodyFrom(values), headers: { 'Idempotency-Key': key } }));
    await client.invalidateQueries({ queryKey: [environment, 'agents'] });
    notify(`${data.name} was created as a draft.`);
    return data.id;
  };
  return <Editor title="New agent" values={blank} action="Create the agent" onSave={create} />;
}

/** Read each time that the editor opens, and not again while it is open. */
const editedAgentQuery = (environment: Environment, agentId: string) =>
  queryOptions({
    queryKey: [environment, 'edited-agent', agentId],
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const params = { path: { agent_id: agentId } };
      const call = api(environment).GET('/v1/agents/{agent_id}', { params, signal });
      const [{ data }, { response }] = await Promise.all([bodyOf(call), call]);
      return { agent: data, version: response.headers.get('etag') ?? '' };
    },
  });

function explainConflict(cause: unknown): never {
  if (!(cause instanceof ApiError) || cause.status !== 412) throw cause;
  throw new Error('The agent was changed by someone else after you opened it. Copy the texts that you want to keep, and reload the page.');
}

export function EditAgentPage() {
  const environment = useEnvironment();
  const { agentId = '' } = useParams({ strict: false });
  const client = useQueryClient();
  const { data, error, refetch } = useQuery(editedAgentQuery(environment, agentId));
  if (error && !data) return <FailedPage title="Edit the agent" cause={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  const { agent, version } = data;
  const save = async (values: AgentValues, key: string) => {
    const params = { path: { agent_id: agentId }, header: { 'If-Match': version } };
    const body = changesOf(bodyFrom(valuesOf(agent)), bodyFrom(values));
    // Under its key a repeat is no conflict with the change itself.
    const sent = { params, body, headers: { 'Idempotency-Key': key } };
    await bodyOf(api(environment).PATCH('/v1/agents/{agent_id}', sent)).catch(explainConflict);
    await client.invalidateQueries({ queryKey: [environment, 'agents'] });
    notify('The changes are saved.');
    return agentId;
  };
  return <Editor key={agentId} title={`Edit ${agent.name}`} values={valuesOf(agent)} action="Save" onSave={save} agentId={agentId} />;
}

interface EditorProps {
  title: string;
  values: AgentValues;
  action: string;
  /** Resolves to the id of the agent. */
  onSave: (values: AgentValues, key: string) => Promise<string>;
  agentId?: string;
}

/** `data_scope.tables[0]` is a fault of the field `tables`. */
const fieldOf = (param: string) => param.replace(/^(data_scope|output_preferences)\./, '').replace(/[.[].*$/, '');

function Editor({ title, values, action, onSave, agentId }: EditorProps) {
  const environment = useEnvironment();
  const navigate = useNavigate();
  const save = async (sent: AgentValues, key: string) => {
    const params = { environment, agentId: await onSave(sent, key) };
    // The user may have gone to another page by now, and have typed something there.
    if (form.isShown()) await navigate({ to: '/$environment/agents/$agentId', params, ignoreBlocker: true });
  };
  const form = useApiForm<AgentValues>(values, save, fieldOf);
  const { isDirty, isSubmitting } = form.formState;
  useUnsent(`agent/${environment}/${agentId ?? 'new'}`, values, form);
  useQuestionBeforeLeaving({ question: 'Leave without saving? Your changes will be lost.', isAsked: isDirty, isSending: isSubmitting });
  const back = agentId ? (
    <Link to="/$environment/agents/$agentId" params={{ environment, agentId }} className="breadcrumb">
      <BackIcon /> {values.name}
    </Link>
  ) : (
    <Link to="/$environment/agents" params={{ environment }} className="breadcrumb">
      <BackIcon /> Agents
    </Link>
  );
  return (
    <Page title={title} back={back} narrow>
      <form className="stack loose" onSubmit={form.submit} noValidate>
        <Identity form={form} />
        <Data form={form} />
        <Answers form={form} />
        <Conversation form={form} />
        <div className="form-foot">
          {form.failure}
          <Button type="submit" variant="primary" busy={isSubmitting}>
            {action}
          </Button>
          <ButtonLink
            to={agentId ? '/$environment/agents/$agentId' : '/$environment/agents'}
            params={{ environment, agentId: agentId ?? '' }}
          >
            Cancel
          </ButtonLink>
        </div>
      </form>
    </Page>
  );
}

/** Brings back the fields that were changed when the session ended, and leaves the others as they are stored. */
function useUnsent(name: string, before: AgentValues, { getValues, setValue }: UseFormReturn<AgentValues>) {
  const read = useEffectEvent(() => {
    const changes = changesOf(before, getValues());
    return Object.keys(changes).length > 0 ? changes : undefined;
  });
  const restore = useEffectEvent(() => {
    const changes = (takeUnsent(name) ?? {}) as Partial<AgentValues>;
    for (const field of Object.keys(changes) as (keyof AgentValues)[]) setValue(field, changes[field] as never, { shouldDirty: true });
    if (Object.keys(changes).length > 0) notify('Your unsaved changes are back.');
  });
  useEffect(() => {
    restore();
    return watchUnsent(name, () => read());
  }, [name]);
}

type Form = UseFormReturn<AgentValues> & { errorOf: (name: keyof AgentValues) => string | undefined };

function Identity({ form: { register, errorOf } }: { form: Form }) {
  return (
    <Section title="Agent">
      <div className="stack">
        <TextField label="Name" maxLength={100} error={errorOf('name')} {...register('name', { required: 'Enter a name.' })} />
        <TextField label="Description" optional error={errorOf('description')} {...register('description')} />
        <div className="columns">
          <TextField label="Category" optional placeholder="sales" error={errorOf('category')} {...register('category')} />
          <SelectField label="Model" hint="Better models cost more credits." error={errorOf('model')} {...register('model')}>
            {tiers.map((tier) => (
              <option key={tier}>{tier}</option>
            ))}
          </SelectField>
        </div>
        <TextAreaField
          label="Instructions"
          hint="How the agent should work and answer: its task, your terms, what it should leave out."
          rows={8}
          error={errorOf('system_prompt')}
          {...register('system_prompt', { required: 'Enter instructions.' })}
        />
      </div>
    </Section>
  );
}

function Data({ form: { control, errorOf } }: { form: Form }) {
  return (
    <Section title="Data" description="The agent can read these tables and columns and nothing else.">
      <div className="stack">
        <Controller control={control} name="tables" render={({ field }) => <ScopePicker value={field.value} onChange={field.onChange} />} />
        <ErrorText>{errorOf('tables')}</ErrorText>
        <SwitchField
          control={control}
          name="read_only"
          label="Only read"
          hint="Switched off, the agent may also insert and change rows of these tables."
        />
      </div>
    </Section>
  );
}

function Answers({ form: { register, control, errorOf } }: { form: Form }) {
  return (
    <Section title="Answers">
      <div className="stack">
        <SelectField label="Format" error={errorOf('default_format')} {...register('default_format')}>
          {Object.entries(formats).map(([format, label]) => (
            <option key={format} value={format}>
              {label}
            </option>
          ))}
        </SelectField>
        <SwitchField control={control} name="chart_enabled" label="Charts" hint="In answers as Markdown or tables." />
      </div>
    </Section>
  );
}

const maxPrompts = 5;

function Conversation({ form }: { form: Form }) {
  return (
    <Section title="Conversation" description="Shown to users before their first message.">
      <div className="stack">
        <TextField label="Welcome message" optional error={form.errorOf('welcome_message')} {...form.register('welcome_message')} />
        <Controller
          control={form.control}
          name="suggested_prompts"
          render={({ field }) => <Prompts value={field.value} onChange={field.onChange} error={form.errorOf('suggested_prompts')} />}
        />
      </div>
    </Section>
  );
}

interface PromptsProps {
  value: string[];
  onChange: (prompts: string[]) => void;
  error: string | undefined;
}

function Prompts({ value, onChange, error }: PromptsProps) {
  const list = useRef<HTMLFieldSetElement>(null);
  const add = () => {
    onChange([...value, '']);
    requestAnimationFrame(() => list.current?.querySelector<HTMLInputElement>('li:last-child input')?.focus());
  };
  const remove = (index: number) => {
    onChange(value.toSpliced(index, 1));
    // The button of the last prompt is gone, and its focus goes to the prompt before it.
    requestAnimationFrame(() => {
      const buttons = list.current?.querySelectorAll<HTMLButtonElement>('button');
      buttons?.[Math.min(index, Math.max(value.length - 2, 0))]?.focus();
    });
  };
  return (
    <fieldset className="field" ref={list}>
      <legend>
        Suggested prompts <span className="muted small">(optional)</span>
      </legend>
      <ul className="stack tight">
        {value.map((prompt, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the prompts are texts in an order, and may be equal.
          <li key={index} className="row">
            <input
              className="input"
              dir="auto"
              aria-label={`Prompt ${index + 1}`}
              value={prompt}
              onChange={(event) => onChange(value.with(index, event.target.value))}
            />
            <Button variant="ghost" icon={X} aria-label={`Remove prompt ${index + 1}`} onClick={() => remove(index)} />
          </li>
        ))}
      </ul>
      <ErrorText>{error}</ErrorText>
      {value.length < maxPrompts && (
        <div>
          <Button icon={Plus} onClick={add}>
            Add a prompt
          </Button>
        </div>
      )}
    </fieldset>
  );
}
