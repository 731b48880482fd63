import type { Implementation } from '@agent-service/contracts';
import { outboxMethods } from '@agent-service/store';
import type { AgentsContext } from '../context.ts';
import { activateTemplateAgent } from './activate-template-agent.ts';
import { authorizeStep } from './authorize-step.ts';
import { beginAnswer } from './begin-answer.ts';
import { cancelAnswer } from './cancel-answer.ts';
import { completeAnswer } from './complete-answer.ts';
import { connectDataSource } from './connect-data-source.ts';
import { createAgent } from './create-agent.ts';
import { deactivateTemplateAgent } from './deactivate-template-agent.ts';
import { deleteAgent } from './delete-agent.ts';
import { failAnswer } from './fail-answer.ts';
import { finishStep } from './finish-step.ts';
import { getAgent } from './get-agent.ts';
import { getDataSource } from './get-data-source.ts';
import { getMessage } from './get-message.ts';
import { listAgents } from './list-agents.ts';
import { listConversations } from './list-conversations.ts';
import { listDataSources } from './list-data-sources.ts';
import { listMessages } from './list-messages.ts';
import { listTemplateAgents } from './list-template-agents.ts';
import { readAnswers } from './read-answers.ts';
import { removeDataSource } from './remove-data-source.ts';
import { renewLeases } from './renew-leases.ts';
import { returnAnswers } from './return-answers.ts';
import { startAnswer } from './start-answer.ts';
import { testDataSource } from './test-data-source.ts';
import { updateAgent } from './update-agent.ts';

/** Every method of the contract, each in the file of its name. */
export const implementation = (context: AgentsContext): Implementation<'agents'> => ({
  beginAnswer: beginAnswer(context),
  cancelAnswer: cancelAnswer(context),
  completeAnswer: completeAnswer(context),
  createAgent: createAgent(context),
  deleteAgent: deleteAgent(context),
  failAnswer: failAnswer(context),
  getAgent: getAgent(context),
  getMessage: getMessage(context),
  listAgents: listAgents(context),
  listConversations: listConversations(context),
  listMessages: listMessages(context),
  readAnswers: readAnswers(context),
  renewLeases: renewLeases(context),
  returnAnswers: returnAnswers(context),
  startAnswer: startAnswer(context),
  updateAgent: updateAgent(context),
  testDataSource: testDataSource(context),
  removeDataSource: removeDataSource(context),
  listDataSources: listDataSources(context),
  getDataSource: getDataSource(context),
  finishStep: finishStep(context),
  connectDataSource: connectDataSource(context),
  authorizeStep: authorizeStep(context),
  activateTemplateAgent: activateTemplateAgent(context),
  deactivateTemplateAgent: deactivateTemplateAgent(context),
  listTemplateAgents: listTemplateAgents(context),
  ...outboxMethods(context.store, () => context.auditRelay.nudge()),
});
