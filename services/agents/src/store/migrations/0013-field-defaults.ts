import { migration } from '@agent-service/store';

// The columns of an agent's fields have the defaults of the fields (agents/store/agents.ts). These columns had none.
const defaults = `
  alter table agents
    alter column tables set default '{}',
    alter column read_only set default true,
    alter column description set default '',
    alter column category set default '',
    alter column model set default 'Fast',
    alter column welcome_message set default '',
    alter column suggested_prompts set default '{}',
    alter column default_format set default 'markdown',
    alter column chart_enabled set default false;
`;

export const fieldDefaults = migration('0013-field-defaults', defaults);
