import type { ProcessContext } from '@agent-service/runtime';
import type { Sql } from '../sql.ts';
import type { Store } from '../store.ts';
import { startSweep } from '../sweep.ts';
import { type Cipher, createCipher, type EncryptionConfig, sealingVersion } from './cipher.ts';
import {
  countVersions,
  isColumn,
  replaceSealed,
  rowsUnder,
  type SealedColumn,
  type SealedField,
  type SealedRow,
  type VersionCount,
} from './sealed-fields.ts';

const everyMs = 60_000;
const rowsAtOnce = 100;
const settingName = 'ENCRYPTION_KEYS';

/**
 * The cipher of one service over all its sealed fields. Values under an older key are sealed again under the newest one while the service
 * runs, so that older keys can be removed.
 */
export async function openCipher(
  process: ProcessContext,
  store: Store,
  config: EncryptionConfig,
  fields: readonly SealedField[],
): Promise<Cipher> {
  const rotation = createRotation(process, store, config, fields);
  await rotation.inspect();
  startSweep(process, 'encryption keys', everyMs, () => rotation.rotate().then(() => 0));
  return rotation.cipher;
}

interface FieldVersionCount extends VersionCount {
  readonly field: SealedField;
}

interface Rotation {
  readonly cipher: Cipher;
  /** Counts the values under each key, and selects the key that seals. */
  inspect(): Promise<readonly FieldVersionCount[]>;
  /** Seals values under older keys again and reports. */
  rotate(): Promise<void>;
}

export function createRotation(
  process: Pick<ProcessContext, 'logger' | 'metrics' | 'stopping'>,
  { sql }: Pick<Store, 'sql'>,
  { ENCRYPTION_KEYS: keys, ENCRYPTION_KEY_AHEAD_SECONDS: aheadSeconds }: EncryptionConfig,
  fields: readonly SealedField[],
  now: () => number = () => performance.now(),
): Rotation {
  const configured = [...keys.keys()];
  const newest = Math.max(...configured);
  const settlesAt = now() + aheadSeconds * 1_000;
  const report = createKeyReport(process, { fields: fields.map(({ name }) => name), configured });
  let sealing = newest;
  const cipher = createCipher(keys, () => sealing);

  async function inspect(): Promise<readonly FieldVersionCount[]> {
    const counts: FieldVersionCount[] = [];
    for (const field of fields) counts.push(...(await countVersions(sql, field, newest)).map((count) => ({ field, ...count })));
    const stored = counts.flatMap(({ version }) => version ?? []);
    sealing = sealingVersion({ configured, stored, isSettled: now() >= settlesAt });
    return counts;
  }

  const isOlder = ({ version }: FieldVersionCount) => version !== undefined && version < newest;

  /** Seals the values under a version before the sealing one again. One value of any other version is opened, to test the key. */
  async function resealOrSample({ field, version }: FieldVersionCount): Promise<FieldResult> {
    if (version === undefined || !keys.has(version) || !isColumn(field)) return { resealed: 0, unopened: 0 };
    const values = { sql, cipher, field, version };
    return await (version < sealing ? resealVersion(values, process.stopping) : sampleVersion(values));
  }

  function reportOf({ field, version, values }: FieldVersionCount, result: FieldResult | undefined): VersionReport {
    const isKnown = version !== undefined && keys.has(version);
    const { unopened, cause } = isKnown ? { unopened: 0, ...result } : { unopened: values, cause: undefined };
    const older = isKnown && version < newest ? Math.max(0, values - unopened) : 0;
    return { field: field.name, version, older, unopened, cause };
  }

  return {
    cipher,
    inspect,
    async rotate() {
      const before = await inspect();
      const results = new Map<string, FieldResult>();
      for (const count of before) results.set(keyOf(count), await resealOrSample(count));
      const resealed = sum([...results.values()].map((result) => result.resealed));
      // Another replica may have sealed other values in the meantime.
      const after = before.some(isOlder) ? await inspect() : before;
      // Values are missing from the results where the process stops.
      if (process.stopping.aborted) return;
      report({ versions: after.map((count) => reportOf(count, results.get(keyOf(count)))), sealing, resealed });
    },
  };
}

const keyOf = ({ field, version }: FieldVersionCount) => `${field.name} ${version}`;

/** The values of a column under one version, with what opens and seals them. */
interface VersionScope {
  readonly sql: Sql;
  readonly cipher: Cipher;
  readonly field: SealedColumn;
  readonly version: number;
}

/** How many values of a field under one version were sealed again, and how many could not be opened. */
interface FieldResult {
  readonly resealed: number;
  /** Values that could not be opened; `cause` is of the last one. */
  readonly unopened: number;
  readonly cause?: unknown;
}

/** Seals the column's values under this version again, in bounded steps, each value by its own statement. */
async function resealVersion({ sql, cipher, field, version }: VersionScope, stopping: AbortSignal): Promise<FieldResult> {
  let result: FieldResult = { resealed: 0, unopened: 0 };
  let after: readonly string[] = [];
  while (!stopping.aborted) {
    const rows = await rowsUnder(sql, field, { version, after, limit: rowsAtOnce });
    for (const row of rows) result = await resealRow({ sql, cipher, field, version }, row, result);
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsAtOnce) break;
    after = last.key;
  }
  return result;
}

async function resealRow({ sql, cipher, field }: VersionScope, row: SealedRow, before: FieldResult): Promise<FieldResult> {
  const { clear, cause } = open(cipher, row);
  if (clear === undefined) return { ...before, unopened: before.unopened + 1, cause };
  const isOurs = await replaceSealed(sql, field, row, cipher.encrypt(clear, row.context));
  return { ...before, resealed: before.resealed + (isOurs ? 1 : 0) };
}

/** Opens one of the values to test the key: a wrong key opens none. */
async function sampleVersion({ sql, cipher, field, version }: VersionScope): Promise<FieldResult> {
  const [row] = await rowsUnder(sql, field, { version, after: [], limit: 1 });
  const { clear, cause } = row ? open(cipher, row) : { clear: '', cause: undefined };
  return clear === undefined ? { resealed: 0, unopened: 1, cause } : { resealed: 0, unopened: 0 };
}

function open(cipher: Cipher, { sealed, context }: SealedRow): { clear?: string; cause?: unknown } {
  try {
    return { clear: cipher.decrypt(sealed, context) };
  } catch (cause) {
    return { cause };
  }
}

/** The values under one version in one field. */
interface VersionReport {
  readonly field: string;
  /** Undefined if the stored text names none. */
  readonly version: number | undefined;
  /** How many values wait to be sealed under the newest key. */
  readonly older: number;
  /** How many of the values that were tried cannot be opened. */
  readonly unopened: number;
  readonly cause?: unknown;
}

interface RotationResult {
  readonly versions: readonly VersionReport[];
  /** The version that seals. */
  readonly sealing: number;
  readonly resealed: number;
}

interface KeyReportOptions {
  readonly fields: readonly string[];
  readonly configured: readonly number[];
}

/** Reports to operators how many values need older keys: always by metrics, and by the log when it changes. */
function createKeyReport(
  { metrics, logger }: Pick<ProcessContext, 'metrics' | 'logger'>,
  { fields, configured }: KeyReportOptions,
): (result: RotationResult) => void {
  const older = metrics.gauge('sealed_values_under_older_keys', 'Values that wait to be sealed under the newest key', ['place']);
  const unopened = metrics.gauge('sealed_values_unopened', 'Values that none of the configured keys opens', ['place']);
  const newest = Math.max(...configured);
  const unused = configured.filter((version) => version < newest);
  let logged = new Map<string, number>();
  let isDone = false;
  let resealed = 0;

  function measure(versions: readonly VersionReport[]): void {
    for (const field of fields) {
      const ofField = versions.filter((version) => version.field === field);
      older.set({ place: field }, sum(ofField.map((version) => version.older)));
      unopened.set({ place: field }, sum(ofField.map((version) => version.unopened)));
    }
  }

  function logUnopened(versions: readonly VersionReport[]): void {
    const now = new Map<string, number>();
    for (const { field, version = 'none', unopened: values, cause } of versions) {
      if (values === 0) continue;
      now.set(`${field} ${version}`, values);
      if (logged.get(`${field} ${version}`) !== values)
        logger.error({
          event: 'sealed_values_unopened',
          setting: settingName,
          place: field,
          version,
          values,
          err: cause ?? missing(version),
        });
    }
    logged = now;
  }

  return ({ versions, sealing, resealed: more }) => {
    measure(versions);
    logUnopened(versions);
    resealed += more;
    const wasDone = isDone;
    isDone = sealing === newest && unused.length > 0 && versions.every((version) => version.older === 0);
    if (isDone && !wasDone) logger.info({ event: 'encryption_keys_unused', setting: settingName, versions: unused, sealing, resealed });
  };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
const missing = (version: number | 'none') => new Error(`${settingName} has no version ${version}`);
