import { ServiceError } from '@agent-service/contracts';

/** The agent, which agents always sends although the wire format could leave it out. */
export function given<Agent>(agent: Agent | null): Agent {
  if (agent === null) throw new ServiceError('internal', { cause: new Error('agents left out the agent') });
  return agent;
}
