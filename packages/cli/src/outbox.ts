import { type Command, Option } from 'commander';
import { group, printableFailure, type Run } from './commands.ts';
import type { OutboxClient } from './connection.ts';

const pageSize = 200;

type DeadLetter = Awaited<ReturnType<OutboxClient['listDeadLetters']>>['deadLetters'][number];

const serviceOption = () =>
  new Option('--service <name>', 'the service that owns the outbox').choices(['identity', 'credits', 'agents', 'webhooks']);

export function outboxCommands(program: Command, run: Run): void {
  const verb = group(program, 'outbox', 'Messages between services that their receiver refused and that were set aside');
  verb('list', 'show them by service, oldest first, without their content')
    .addOption(serviceOption())
    .action(({ service }: { service?: string }) =>
      run(async ({ outboxes }) => {
        const letters: Record<string, unknown>[] = [];
        const unread: Record<string, unknown>[] = [];
        for (const [name, outbox] of outboxesOf(outboxes, service)) {
          try {
            for await (const letter of allOf(outbox)) letters.push({ service: name, ...deadLetterOutput(letter) });
          } catch (cause) {
            unread.push({ service: name, failure: printableFailure(cause) });
          }
        }
        if (unread.length > 0) process.exitCode = 1;
        return { dead_letters: letters, ...(unread.length > 0 && { unread }) };
      }),
    );
  verb('show', 'show one message, without its content')
    .addOption(serviceOption().makeOptionMandatory())
    .requiredOption('--id <id>')
    .action(({ service, id }: { service: string; id: string }) =>
      run(async ({ outboxes }) => {
        const outbox = requireOutbox(outboxes, service);
        for await (const letter of allOf(outbox)) if (letter.id === id) return { service, ...deadLetterOutput(letter) };
        throw new Error(`The outbox of ${service} has set no message ${id} aside.`);
      }),
    );
  verb('retry', 'send them again, with all attempts before them')
    .addOption(serviceOption().makeOptionMandatory())
    .option('--id <id...>', 'these')
    .option('--all', 'all of the service')
    .action(({ service, id = [], all = false }: { service: string; id?: string[]; all?: boolean }) =>
      run(async ({ outboxes }) => {
        if (all === id.length > 0) throw new Error('Name what to send again with --id, or everything with --all.');
        const outbox = requireOutbox(outboxes, service);
        const ids = all ? (await Array.fromAsync(allOf(outbox))).map((letter) => letter.id) : id;
        let retried = 0;
        for (let start = 0; start < ids.length; start += pageSize)
          retried += (await outbox.retryDeadLetters({ ids: ids.slice(start, start + pageSize) })).retried;
        if (retried < id.length) process.exitCode = 1;
        return { service, retried };
      }),
    );
}

function outboxesOf(outboxes: ReadonlyMap<string, OutboxClient>, service: string | undefined): Iterable<readonly [string, OutboxClient]> {
  return service === undefined ? outboxes : [[service, requireOutbox(outboxes, service)]];
}

function requireOutbox(outboxes: ReadonlyMap<string, OutboxClient>, service: string): OutboxClient {
  const outbox = outboxes.get(service);
  if (!outbox) throw new Error(`Set ${service.toUpperCase()}_ADDRESS: this command needs the ${service} service.`);
  return outbox;
}

/** Pages by id, so that a message that is set aside again does not come twice. */
async function* allOf(outbox: OutboxClient): AsyncGenerator<DeadLetter> {
  let afterId = '';
  while (true) {
    const { deadLetters } = await outbox.listDeadLetters({ afterId, limit: pageSize });
    yield* deadLetters;
    const last = deadLetters.at(-1);
    if (last === undefined || deadLetters.length < pageSize) return;
    afterId = last.id;
  }
}

const deadLetterOutput = ({ id, topic, organizationId, reason, attempts, bytes, createdAt, deadAt }: DeadLetter) => ({
  id,
  topic,
  organization_id: organizationId,
  reason,
  attempts,
  bytes: Number(bytes),
  created_at: createdAt,
  dead_at: deadAt,
  age_seconds: Math.max(0, Math.round((Date.now() - Date.parse(createdAt)) / 1000)),
});
