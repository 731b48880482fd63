import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The content of a file with a template of the operator. */
export const operatorsTemplate = (more: object = {}) => ({
  id: 'tpl_operators_own',
  name: 'The operator’s own',
  category: 'finance',
  description: 'Made by the operator.',
  long_description: 'Made by the operator, for a test.',
  version: '1.0.0',
  model: 'Fast',
  system_prompt: 'Answer as the first version does.',
  welcome_message: 'Ask.',
  suggested_prompts: ['How many invoices are overdue?'],
  data_scope: { tables: ['invoices'] },
  required_tables: ['invoices'],
  changelog: [{ version: '1.0.0', date: '2026-01-01', changes: 'First version.' }],
  ...more,
});

/** Writes a template to a file in a folder. */
export const writeTemplate = (folder: string, template: object, name = 'template.json'): Promise<void> =>
  writeFile(join(folder, name), JSON.stringify(template));
