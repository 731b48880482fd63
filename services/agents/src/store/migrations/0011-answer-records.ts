import { migration } from '@agent-service/store';

// How an answer came about: what it used of its model, its last result, its steps. An answer that was refused is settled without a charge.
const records = `
  alter table answers add column record jsonb, add column refused boolean not null default false;
  alter table messages add column record jsonb;
`;

export const answerRecords = migration('0011-answer-records', records);
