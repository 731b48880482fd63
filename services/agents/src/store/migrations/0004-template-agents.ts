import { migration } from '@agent-service/store';

// The agent that a template was activated as; its copies carry source_template_id alone. There is one such agent for each tenant and template,
// also when several activations run at once.
const activatedTemplates = `
  alter table agents add column activated_template_id text check (activated_template_id <> '');
  create unique index agents_activated_template_index on agents (organization_id, environment, activated_template_id)
    where activated_template_id is not null;
`;

export const templateAgents = migration('0004-template-agents', activatedTemplates);
