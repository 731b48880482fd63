import { readFileSync, writeFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import {
  environmentOption,
  group,
  inOrganization,
  type PageOptions,
  pageOutput,
  type Run,
  requireOrganization,
  type TenantOptions,
  withPages,
} from './commands.ts';
import type { Connection } from './connection.ts';

/** A call verifies for some seconds and says how to go on. */
const verifyLimitMs = 30_000;
const anchorsAtOnce = 200;
const everyOrganization = 'all';
/** Stands for an organization in the chain of entries that belong to none. */
const service = 'service';

const anchor = z.strictObject({
  organization: z.string(),
  sequence: z.number().int().positive(),
  hash: z.string(),
  at: z.string(),
  key_version: z.number().int(),
  mac: z.string(),
});
const anchorsFile = z.object({ anchors: z.array(anchor) });
type Anchor = z.output<typeof anchor>;

type Identity = Connection['identity'];
type Verified = Awaited<ReturnType<Identity['verifyAuditChain']>>;

const faultOutput = (fault: Verified['faults'][number]) => ({
  organization_id: fault.organizationId,
  sequence: Number(fault.sequence),
  reason: fault.reason,
});
type Fault = ReturnType<typeof faultOutput>;

/** With faults, the command prints them and exits with 2. */
function failOnFaults<Result extends { faults: readonly Fault[] }>(result: Result): Result {
  if (result.faults.length > 0) process.exitCode = 2;
  return result;
}

export function auditCommands(program: Command, run: Run): void {
  const verb = group(program, 'audit', 'The audit log');
  listCommand(verb, run);
  verb('verify', 'recompute the hash chains and name what is wrong')
    .option('--organization <id>', `one organization, or "${service}"; all of them unless given`, everyOrganization)
    .option('--anchors <file>', 'prove as well that the chains contain these anchors')
    .action(({ organization, anchors }: { organization: string; anchors?: string }) =>
      run(async ({ identity }) => {
        await requireSelection(identity, organization);
        const toCheck = anchors === undefined ? undefined : readAnchors(anchors, organization);
        const verified = await verify(identity, organization);
        if (toCheck === undefined) return failOnFaults({ ok: verified.faults.length === 0, ...verified });
        const faults = [...verified.faults, ...(await check(identity, toCheck))];
        return failOnFaults({ ok: faults.length === 0, ...verified, anchors: toCheck.length, faults });
      }),
    );
  verb('anchor', 'export the signed ends of the chains, to be kept where this system cannot change them')
    .requiredOption('--organization <id>', `one organization, "${service}", or "${everyOrganization}"`)
    .option('--out <file>', 'a new file; printed unless given')
    .action(({ organization, out }: { organization: string; out?: string }) =>
      run(async ({ identity }) => {
        await requireSelection(identity, organization);
        const { anchors, faults } = await exportAnchors(identity, organization);
        if (out === undefined) return failOnFaults({ anchors, faults });
        // An earlier export is evidence: it is not replaced.
        writeFileSync(out, `${JSON.stringify({ anchors }, null, 2)}\n`, { flag: 'wx', mode: 0o600 });
        return failOnFaults({ file: out, anchors: anchors.length, faults });
      }),
    );
}

interface Filter {
  actor: string;
  action: string;
  target: string;
  dateFrom: string;
  dateTo: string;
}

function listCommand(verb: ReturnType<typeof group>, run: Run): void {
  withPages(verb('list', 'show the entries, newest first: those of an environment and those of the organization as a whole'))
    .requiredOption('--organization <id>', `one organization, or "${service}" for the entries that belong to none`)
    .addOption(environmentOption().makeOptionMandatory(false).default('live'))
    .option('--actor <id>', 'id of who acted; "operator" for these commands', '')
    .option('--action <name>', 'as user.updated', '')
    .option('--target <id>', 'id of what was acted on', '')
    .option('--date-from <time>', 'not before this time', time, '')
    .option('--date-to <time>', 'before this time', time, '')
    .action(({ organization, environment, limit, after, ...filter }: TenantOptions & PageOptions & Filter) =>
      run(async ({ identity }) => {
        await requireChain(identity, organization);
        const request = { ...filter, page: { limit, cursor: after } };
        const { entries, page } = await inOrganization({ organization, environment }, () => identity.listAuditEntries(request));
        return { entries: entries.map(entryOutput), ...pageOutput(page) };
      }),
    );
}

/** A time without its zone would be one of the zone that this computer is in. */
const dateOrTime = z.union([z.iso.date(), z.iso.datetime({ offset: true }), z.iso.datetime({ offset: true, precision: -1 })]);

function time(text: string): string {
  const milliseconds = dateOrTime.safeParse(text).success ? Date.parse(text) : Number.NaN;
  if (milliseconds >= 0) return new Date(milliseconds).toISOString();
  throw new InvalidArgumentError('It must be a date, or a time with its zone as 2026-01-31T12:00:00Z or 2026-01-31T14:00:00+02:00.');
}

type Entry = Awaited<ReturnType<Identity['listAuditEntries']>>['entries'][number];

const entryOutput = (entry: Entry) => ({
  id: entry.id,
  created_at: entry.createdAt,
  environment: entry.environment,
  actor_type: entry.actor?.type,
  actor_id: entry.actor?.id,
  key_id: entry.actor?.keyId,
  action: entry.action,
  target_type: entry.target?.type,
  target_id: entry.target?.id,
  outcome: entry.outcome,
  request_id: entry.requestId,
  changes: JSON.parse(entry.changesJson || '{}') as object,
});

async function requireSelection(identity: Identity, organization: string): Promise<void> {
  if (organization !== everyOrganization) await requireChain(identity, organization);
}

/** A wrong id has no chain, in which no fault is and which has no end to export. */
async function requireChain(identity: Identity, organization: string): Promise<void> {
  if (organization !== service) await requireOrganization({ identity }, organization);
}

const idOf = (organization: string): string => (organization === everyOrganization ? '' : organization);

async function verify(identity: Identity, organization: string) {
  let [organizations, entries, cursor] = [0, 0, ''];
  let isAppendOnly: boolean;
  const faults: Fault[] = [];
  do {
    const part = await identity.verifyAuditChain({ organizationId: idOf(organization), cursor }, { timeoutMs: verifyLimitMs });
    organizations += Number(part.organizations);
    entries += Number(part.entries);
    faults.push(...part.faults.map(faultOutput));
    isAppendOnly = part.appendOnly;
    cursor = part.nextCursor;
  } while (cursor !== '');
  return { organizations, entries, append_only_role: isAppendOnly, faults };
}

async function exportAnchors(identity: Identity, organization: string) {
  const anchors: Anchor[] = [];
  const faults: Fault[] = [];
  let after = '';
  do {
    const page = await identity.listAuditAnchors({ organizationId: idOf(organization), after });
    for (const { organizationId, sequence, keyVersion, hash, at, mac } of page.anchors)
      anchors.push({ organization: organizationId, sequence: Number(sequence), hash, at, key_version: keyVersion, mac });
    faults.push(...page.faults.map(faultOutput));
    after = page.nextAfter;
  } while (after !== '');
  return { anchors, faults };
}

function readAnchors(file: string, organization: string): Anchor[] {
  const result = anchorsFile.safeParse(parseJson(readFileSync(file, 'utf8')));
  if (!result.success) throw new Error(`${file} does not hold anchors as "audit anchor" writes them.`);
  const selection = result.data.anchors.filter((each) => organization === everyOrganization || each.organization === organization);
  if (selection.length === 0)
    throw new Error(`${file} has no anchor ${organization === everyOrganization ? '' : `of ${organization} `}to check.`);
  return selection;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the file and does not name it.
    return undefined;
  }
}

async function check(identity: Identity, anchors: readonly Anchor[]): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (let start = 0; start < anchors.length; start += anchorsAtOnce) {
    const part = anchors.slice(start, start + anchorsAtOnce).map(({ organization, key_version, ...rest }) => ({
      ...rest,
      organizationId: organization,
      keyVersion: key_version,
    }));
    faults.push(...(await identity.checkAuditAnchors({ anchors: part })).faults.map(faultOutput));
  }
  return faults;
}
