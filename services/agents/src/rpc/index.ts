import type { Implementation } from '@agent-service/contracts';
import { outboxMethods } from '@agent-service/store';
import { activateTemplateAgent } from '../agents/rpc/activate-template-agent.ts';
import { createAgent } from '../agents/rpc/create-agent.ts';
import { deactivateTemplateAgent } from '../agents/rpc/deactivate-template-agent.ts';
import { deleteAgent } from '../agents/rpc/delete-agent.ts';
import { getAgent } from '../agents/rpc/get-agent.ts';
import { listAgents } from '../agents/rpc/list-agents.ts';
import { listTemplateAgents } from '../agents/rpc/list-template-agents.ts';
import { updateAgent } from '../agents/rpc/update-agent.ts';
import { beginAnswer } from '../answers/rpc/begin-answer.ts';
import { cancelAnswer } from '../answers/rpc/cancel-answer.ts';
import { completeAnswer } from '../answers/rpc/complete-answer.ts';
import { failAnswer } from '../answers/rpc/fail-answer.ts';
import { readAnswers } from '../answers/rpc/read-answers.ts';
import { renewLeases } from '../answers/rpc/renew-leases.ts';
import { returnAnswers } from '../answers/rpc/return-answers.ts';
import { startAnswer } from '../answers/rpc/start-answer.ts';
import type { AgentsContext } from '../context.ts';
import { getMessage } from '../conversations/rpc/get-message.ts';
import { listConversations } from '../conversations/rpc/list-conversations.ts';
import { listMessages } from '../conversations/rpc/list-messages.ts';
import { authorizeStep } from '../data-sources/rpc/authorize-step.ts';
import { connectDataSource } from '../data-sources/rpc/connect-data-source.ts';
import { finishStep } from '../data-sources/rpc/finish-step.ts';
import { getDataSource } from '../data-sources/rpc/get-data-source.ts';
import { listDataSources } from '../data-sources/rpc/list-data-sources.ts';
import { removeDataSource } from '../data-sources/rpc/remove-data-source.ts';
import { testDataSource } from '../data-sources/rpc/test-data-source.ts';

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
