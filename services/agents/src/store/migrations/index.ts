import { agents } from './0001-agents.ts';
import { answers } from './0002-answers.ts';
import { dataSourcesMigration } from './0003-data-sources.ts';
import { templateAgents } from './0004-template-agents.ts';
import { auditedStepsMigration } from './0005-audited-steps.ts';
import { sealedUrlsMigration } from './0006-sealed-urls.ts';
import { contentTypeMigration } from './0007-content-type.ts';
import { deadLetters } from './0008-dead-letters.ts';
import { lostLeasesMigration } from './0009-lost-leases.ts';
import { deletedAgentsDue } from './0010-deleted-agents-due.ts';
import { answerRecords } from './0011-answer-records.ts';
import { conversationsAndFeedback } from './0012-conversations-and-feedback.ts';
import { fieldDefaults } from './0013-field-defaults.ts';
import { categoryHashes } from './0014-category-hashes.ts';

/** The history of the schema, oldest first. */
export const migrations = [
  agents,
  answers,
  dataSourcesMigration,
  templateAgents,
  auditedStepsMigration,
  sealedUrlsMigration,
  contentTypeMigration,
  deadLetters,
  lostLeasesMigration,
  deletedAgentsDue,
  answerRecords,
  conversationsAndFeedback,
  fieldDefaults,
  categoryHashes,
];
