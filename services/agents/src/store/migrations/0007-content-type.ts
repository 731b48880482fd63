import { migration } from '@agent-service/store';

// How an answer is written, as its agent was set when it was asked; the agent may be set otherwise by the time somebody reads it.
const contentType = `
  alter table answers add column content_type text not null default 'markdown' check (content_type in ('markdown', 'text'));
  alter table messages add column content_type text not null default 'markdown' check (content_type in ('markdown', 'text'));
`;

export const contentTypeMigration = migration('0007-content-type', contentType);
