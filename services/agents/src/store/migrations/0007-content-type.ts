import { migration } from '@agent-service/store';

// The content type of an answer, by its agent's preferences when it was computed; the agent may have changed when it is read.
const contentType = `
  alter table answers add column content_type text not null default 'markdown' check (content_type in ('markdown', 'text'));
  alter table messages add column content_type text not null default 'markdown' check (content_type in ('markdown', 'text'));
`;

export const contentTypeMigration = migration('0007-content-type', contentType);
