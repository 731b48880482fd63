import { type ServiceProcess, serviceProcess } from '@agent-service/testkit';
import { type Clients, connectTo, settingsFor } from './boot.ts';

/** A credits process, with new clients after each start. */
export type CreditsProcess = Clients & ServiceProcess;

export async function creditsProcess(databaseUrl: string, settings: Record<string, string> = {}): Promise<CreditsProcess> {
  const process = await serviceProcess('credits', settingsFor(databaseUrl, settings));
  let clients = connectTo(process.address);
  return {
    ...process,
    get agents() {
      return clients.agents;
    },
    get gateway() {
      return clients.gateway;
    },
    get operator() {
      return clients.operator;
    },
    close: () => clients.close(),
    async start(faults) {
      await process.start(faults);
      // The former clients would wait for their next attempt to connect.
      clients.close();
      clients = connectTo(process.address);
    },
    async stop() {
      clients.close();
      return await process.stop();
    },
  };
}
