import type { Template } from '@agent-service/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { Bot, Copy, Play, Power } from 'lucide-react';
import { useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import { ApiError, isLost } from '../../api/errors.ts';
import { readAgentsAgain } from '../../api/lists.ts';
import { useIsAdmin } from '../../api/session.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog, FormDialog } from '../../ui/dialog.tsx';
import { Badge, Loading, notify } from '../../ui/feedback.tsx';
import { SelectField, TextField, useApiForm } from '../../ui/form.tsx';
import { formatDay } from '../../ui/format.tsx';
import { BackIcon, Fact, FailedPage, Page, Section } from '../../ui/page.tsx';
import { tiers } from '../credits/usage-groups.ts';
import { categories } from './templates.tsx';

type Open = 'activate' | 'duplicate' | 'deactivate';

export function TemplatePage() {
  const environment = useEnvironment();
  const { templateId = '' } = useParams({ strict: false });
  const isAdmin = useIsAdmin();
  const [open, setOpen] = useState<Open>();
  const { data, error, refetch } = useQuery({
    queryKey: [environment, 'templates', 'one', templateId],
    queryFn: async () =>
      (await bodyOf(api(environment).GET('/v1/templates/{template_id}', { params: { path: { template_id: templateId } } }))).data,
  });
  if (isLost(error, data)) return <FailedPage title="Template" cause={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  const close = () => setOpen(undefined);
  return (
    <Page
      title={data.name}
      description={data.description}
      heading={
        <>
          {data.name} {data.status === 'activated' && <Badge tone="success">Activated</Badge>}
        </>
      }
      back={
        <Link to="/$environment/templates" params={{ environment }} className="breadcrumb">
          <BackIcon /> Templates
        </Link>
      }
      actions={isAdmin && <Actions template={data} onOpen={setOpen} />}
    >
      <Details template={data} />
      {open === 'activate' && <Activate template={data} onClose={close} />}
      {open === 'duplicate' && <Duplicate template={data} onClose={close} />}
      {open === 'deactivate' && <Deactivate template={data} onClose={close} />}
    </Page>
  );
}

function Actions({ template, onOpen }: { template: Template; onOpen: (open: Open) => void }) {
  return (
    <>
      <Button icon={Copy} onClick={() => onOpen('duplicate')}>
        Duplicate
      </Button>
      {template.status === 'activated' ? (
        <Button icon={Power} onClick={() => onOpen('deactivate')}>
          Deactivate
        </Button>
      ) : (
        <Button variant="primary" icon={Play} onClick={() => onOpen('activate')}>
          Activate
        </Button>
      )}
    </>
  );
}

function Details({ template }: { template: Template }) {
  return (
    <div className="stack loose">
      <dl className="facts">
        <Fact label="Category">{categories[template.category]}</Fact>
        <Fact label="Model">{template.model}</Fact>
        <Fact label="Cost">{template.credit_cost_estimate}</Fact>
        <Fact label="Version">{template.version}</Fact>
      </dl>
      <Section title="About">
        <p className="wrap">{template.long_description}</p>
      </Section>
      <Section title="Tables that it reads">
        <ul className="chips">
          {template.required_tables.map((table) => (
            <li key={table} className="chip mono">
              {table}
            </li>
          ))}
        </ul>
      </Section>
      <Section title="Questions to begin with">
        <ul className="prose-list">
          {template.suggested_prompts.map((prompt) => (
            <li key={prompt} className="wrap">
              <span dir="auto">{prompt}</span>
            </li>
          ))}
        </ul>
      </Section>
      <Section title="Changelog">
        <ol className="stack">
          {template.changelog.map(({ version, date, changes }) => (
            <li key={version}>
              <span className="cell-title">{version}</span> <span className="muted small">{formatDay(date)}</span>
              <p>{changes}</p>
            </li>
          ))}
        </ol>
      </Section>
    </div>
  );
}

interface DialogProps {
  template: Template;
  onClose: () => void;
}

function useOpenAgent() {
  const environment = useEnvironment();
  const navigate = useNavigate();
  const client = useQueryClient();
  return async (agentId: string) => {
    await readAgentsAgain(client, environment);
    await navigate({ to: '/$environment/agents/$agentId', params: { environment, agentId } });
  };
}

function Activate({ template, onClose }: DialogProps) {
  const environment = useEnvironment();
  const openAgent = useOpenAgent();
  const form = useApiForm(
    { name: template.name, model: template.model },
    async ({ name, model }, key) => {
      const path = { template_id: template.id };
      // An agent of an earlier activation has values of its own, which the overrides replace.
      const body = { name_override: name, model_override: model };
      const activation = bodyOf(
        api(environment).POST('/v1/templates/{template_id}/activate', { params: { path }, body, headers: { 'Idempotency-Key': key } }),
      );
      const agentId = await activation.then(({ data }) => {
        notify(`${data.name} is active.`);
        return data.agent_id;
      }, agentOfEarlierActivation);
      await openAgent(agentId);
    },
    (param) => param.replace('_override', ''),
  );
  return (
    <FormDialog
      title={`Activate ${template.name}`}
      description="An agent is made from the template, and can be used at once. If the template was active before, its agent is activated again with this name and model."
      onClose={onClose}
      form={form}
      action="Activate"
      icon={Bot}
    >
      <TextField label="Name of the agent" maxLength={100} error={form.errorOf('name')} {...form.register('name')} />
      <SelectField label="Model" hint={`The template uses ${template.model}.`} error={form.errorOf('model')} {...form.register('model')}>
        {tiers.map((tier) => (
          <option key={tier}>{tier}</option>
        ))}
      </SelectField>
    </FormDialog>
  );
}

/** The template may have been activated by another user since the page was read. Throws any other failure. */
function agentOfEarlierActivation(cause: unknown): string {
  if (!(cause instanceof ApiError) || cause.code !== 'template_already_activated') throw cause;
  notify(cause.message, 'danger');
  return String(cause.details.agent_id);
}

function Duplicate({ template, onClose }: DialogProps) {
  const environment = useEnvironment();
  const openAgent = useOpenAgent();
  const form = useApiForm({ name: `${template.name} (copy)`, description: template.description }, async (body, key) => {
    const path = { template_id: template.id };
    const { data } = await bodyOf(
      api(environment).POST('/v1/templates/{template_id}/duplicate', { params: { path }, body, headers: { 'Idempotency-Key': key } }),
    );
    notify(`${data.name} was created as a draft.`);
    await openAgent(data.id);
  });
  return (
    <FormDialog
      title={`Duplicate ${template.name}`}
      description="The copy is a draft of your own: you can change everything, and later versions of the template do not reach it."
      onClose={onClose}
      form={form}
      action="Duplicate"
    >
      <TextField label="Name" maxLength={100} error={form.errorOf('name')} {...form.register('name', { required: 'Enter a name.' })} />
      <TextField label="Description" optional error={form.errorOf('description')} {...form.register('description')} />
    </FormDialog>
  );
}

function Deactivate({ template, onClose }: DialogProps) {
  const environment = useEnvironment();
  const client = useQueryClient();
  const deactivate = async () => {
    await bodyOf(api(environment).POST('/v1/templates/{template_id}/deactivate', { params: { path: { template_id: template.id } } }));
    notify(`${template.name} was deactivated.`);
    await readAgentsAgain(client, environment);
  };
  return (
    <ConfirmDialog title={`Deactivate ${template.name}?`} action="Deactivate" onConfirm={deactivate} onClose={onClose}>
      Its agent becomes inactive and refuses messages. The agent and its conversations stay.
    </ConfirmDialog>
  );
}
