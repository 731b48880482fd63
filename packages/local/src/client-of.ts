import { type Client, createClient, type ServiceName } from '@agent-service/contracts';
import type { LocalSystem } from './system.ts';

/** A client of a service of this system, which speaks as the one named. */
export function clientOf<Name extends ServiceName>(system: LocalSystem, service: Name, as: string): Client<Name> {
  const address = system.endpoints[service];
  if (!address) throw new Error(`the system runs without ${service}`);
  return createClient(service, { address, as, config: { SERVICE_SECRET: [system.secrets.SERVICE_SECRET] } });
}
