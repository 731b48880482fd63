import { type Client, createClient, operatorService, withCall } from '@agent-service/contracts';
import { secret } from './processes.ts';

const config = { SERVICE_SECRET: [secret] };

/** An organization whose administrator calls services that run as processes. */
export function tenantOf(organizationId: string) {
  const tenant = { organizationId, environment: 'live' } as const;
  const scopes = ['agents:chat', 'agents:write', 'credits:write'];
  const principal = { ...tenant, userId: 'usr_1', credentialId: 'key_1', scopes, admin: true };
  const asCaller = <T>(work: () => T): T => withCall({ requestId: 'test', principal, expiresAt: performance.now() + 20_000 }, work);
  return {
    tenant,
    principal,
    /** Grants credits and lets every user spend half of them a month; returns a client of the operator. */
    async fund(creditsAddress: string, amount: number): Promise<Client<'credits'>> {
      const operator = createClient('credits', { address: creditsAddress, as: operatorService, config });
      await operator.grant({ tenant, grantId: 'g', amount });
      const admin = createClient('credits', { address: creditsAddress, as: 'gateway', config });
      await asCaller(() => admin.updateSettings({ defaultMonthlyLimit: amount / 2 }));
      admin.close();
      return operator;
    },
    /** The id of a new active agent. */
    async activeAgent(gateway: Client<'agents'>): Promise<string> {
      const dataScope = { tables: [], readOnly: true };
      const { agent } = await asCaller(() => gateway.createAgent({ name: 'Sales', systemPrompt: 'Be brief.', dataScope, model: 'Fast' }));
      const id = agent?.id ?? '';
      await asCaller(() => gateway.updateAgent({ agentId: id, status: 'active' }));
      return id;
    },
  };
}
