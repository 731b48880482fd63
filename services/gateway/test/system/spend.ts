import { randomUUID } from 'node:crypto';
import { type Client, createClient, type Environment, operatorService } from '@agent-service/contracts';

export interface CreditClients {
  readonly operator: Client<'credits'>;
  readonly agents: Client<'credits'>;
  close(): void;
}

/** Clients of credits as the operator and as agents. */
export function connectCredits(address: string, secret: string): CreditClients {
  const client = (as: string) => createClient('credits', { address, as, config: { SERVICE_SECRET: [secret] } });
  const [operator, agents] = [client(operatorService), client('agents')];
  return {
    operator,
    agents,
    close() {
      operator.close();
      agents.close();
    },
  };
}

/** A world is made on machines that are busy with three suites. */
const patient = { timeoutMs: 20_000 };

const madeId = (prefix: string) => `${prefix}_${randomUUID().replaceAll('-', '').slice(0, 26)}`;

/** Grants credits to the organization and charges the user for one answer. */
export async function spend(
  { operator, agents }: CreditClients,
  organizationId: string,
  environment: Environment,
  userId: string,
): Promise<void> {
  const tenant = { organizationId, environment };
  await operator.grant({ tenant, grantId: madeId('grant'), amount: 1_000_000 }, patient);
  const holdId = madeId('msg');
  await agents.hold({ items: [{ tenant, holdId, userId, amount: 4, deadlineMs: Date.now() + 60_000 }] }, patient);
  const usage = { agentId: madeId('agt'), agentName: 'Made', conversationId: madeId('conv'), tier: 'Fast', querySummary: 'How much?' };
  const { results } = await agents.settle({ items: [{ tenant, holdId, amount: 3, ...usage }] }, patient);
  if (results[0]?.charged !== 3) throw new Error('the answer was not paid');
}
