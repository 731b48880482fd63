import { type ServiceName, serviceKeysOf, serviceNames } from '@agent-service/contracts';
import { type Command, Option } from 'commander';
import { readServiceSecrets } from './connection.ts';
import { group } from './group.ts';
import { print } from './output.ts';

/** What signs calls and receives none. */
const callersOnly = ['gateway', 'answer-worker', 'webhook-dispatcher', 'operator'];

export function serviceKeyCommands(program: Command, env: NodeJS.ProcessEnv): void {
  const verb = group(program, 'service-keys', 'Keys that services sign their calls with');
  verb('print', 'print the SERVICE_KEYS of one service, derived from the SERVICE_SECRET that only the operator keeps')
    .addOption(new Option('--service <name>').choices([...serviceNames, ...callersOnly]).makeOptionMandatory())
    .action(({ service }: { service: string }) => {
      const isServer = serviceNames.includes(service as ServiceName);
      const callees = serviceNames.filter((name) => name !== service);
      const keys = serviceKeysOf(readServiceSecrets(env), service, callees, isServer);
      print({ SERVICE_KEYS: keys }, program.opts<{ json?: boolean }>().json === true);
    });
}
