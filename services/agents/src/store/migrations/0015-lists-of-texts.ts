import { migration } from '@agent-service/store';

// Lists of texts were written so that PostgreSQL read the text NULL, in any case, as null: then the agent could not be read.
const restoreTexts = `
  update agents set tables = array_replace(tables, null, 'null'), suggested_prompts = array_replace(suggested_prompts, null, 'NULL')
  where array_position(tables, null) is not null or array_position(suggested_prompts, null) is not null;
`;

export const listsOfTexts = migration('0015-lists-of-texts', restoreTexts);
