import type { ProcessContext } from '@agent-service/runtime';
import type { Sql } from '../sql.ts';
import type { Store } from '../store.ts';
import { startSweep } from '../sweep.ts';
import { type Cipher, createCipher, type EncryptionConfig, sealingVersion } from './cipher.ts';
import { isColumn, replaceSealed, rowsUnder, type SealedColumn, type SealedPlace, type SealedRow, stockOf } from './cipher-places.ts';

const everyMs = 60_000;
const rowsAtOnce = 100;
const settingName = 'ENCRYPTION_KEYS';

/**
 * The cipher of one service over all places where it keeps sealed values. Values under an older key are sealed under the newest one
 * while the service runs, so that no key is needed for ever.
 */
export async function openCipher(
  process: ProcessContext,
  store: Store,
  config: EncryptionConfig,
  places: readonly SealedPlace[],
): Promise<Cipher> {
  const rotation = createRotation(process, store, config, places);
  await rotation.inspect();
  startSweep(process, 'encryption keys', everyMs, () => rotation.turn().then(() => 0));
  return rotation.cipher;
}

interface Stock {
  readonly place: SealedPlace;
  /** Undefined where the stored text names none. */
  readonly version: number | undefined;
  readonly values: number;
}

interface Rotation {
  readonly cipher: Cipher;
  /** Counts the values under each key, and decides which key seals. */
  inspect(): Promise<readonly Stock[]>;
  /** Seals values under older keys again, under the key that seals, and reports. */
  turn(): Promise<void>;
}

export function createRotation(
  process: Pick<ProcessContext, 'logger' | 'metrics' | 'stopping'>,
  { sql }: Pick<Store, 'sql'>,
  { ENCRYPTION_KEYS: keys, ENCRYPTION_KEY_AHEAD_SECONDS: aheadSeconds }: EncryptionConfig,
  places: readonly SealedPlace[],
  now: () => number = () => performance.now(),
): Rotation {
  const configured = [...keys.keys()];
  const newest = Math.max(...configured);
  const settlesAt = now() + aheadSeconds * 1_000;
  const report = createKeyReport(process, { places: places.map(({ name }) => name), configured });
  let sealing = newest;
  const cipher = createCipher(keys, () => sealing);

  async function inspect(): Promise<readonly Stock[]> {
    const stock: Stock[] = [];
    for (const place of places) stock.push(...(await stockOf(sql, place, newest)).map((found) => ({ place, ...found })));
    const stored = stock.flatMap(({ version }) => version ?? []);
    sealing = sealingVersion({ configured, stored, isSettled: now() >= settlesAt });
    return stock;
  }

  const isOlder = ({ version }: Stock) => version !== undefined && version < newest;

  async function walk({ place, version }: Stock): Promise<Walked> {
    if (version === undefined || !keys.has(version) || !isColumn(place)) return { resealed: 0, unopened: 0 };
    const where = { sql, cipher, place, version };
    return await (version < sealing ? resealVersion(where, process.stopping) : sampleVersion(where));
  }

  function findingOf({ place, version, values }: Stock, walked: Walked | undefined): Finding {
    const isKnown = version !== undefined && keys.has(version);
    const { unopened, cause } = isKnown ? { unopened: 0, ...walked } : { unopened: values, cause: undefined };
    const older = isKnown && version < newest ? Math.max(0, values - unopened) : 0;
    return { place: place.name, version, older, unopened, cause };
  }

  return {
    cipher,
    inspect,
    async turn() {
      const before = await inspect();
      const walks = new Map<string, Walked>();
      for (const stock of before) walks.set(keyOf(stock), await walk(stock));
      const resealed = [...walks.values()].reduce((total, walked) => total + walked.resealed, 0);
      // Another replica may have sealed values that this one did not.
      const after = before.some(isOlder) ? await inspect() : before;
      // A walk that was aborted has no result.
      if (process.stopping.aborted) return;
      report({ findings: after.map((stock) => findingOf(stock, walks.get(keyOf(stock)))), sealing, resealed });
    },
  };
}

const keyOf = ({ place, version }: Stock) => `${place.name} ${version}`;

interface Walk {
  readonly sql: Sql;
  readonly cipher: Cipher;
  readonly place: SealedColumn;
  readonly version: number;
}

interface Walked {
  readonly resealed: number;
  /** Values that did not open, and why the last of them did not. */
  readonly unopened: number;
  readonly cause?: unknown;
}

/** Seals the column's values under this version again, in bounded steps, each value by its own statement. */
async function resealVersion({ sql, cipher, place, version }: Walk, stopping: AbortSignal): Promise<Walked> {
  let walked: Walked = { resealed: 0, unopened: 0 };
  let after: readonly string[] = [];
  while (!stopping.aborted) {
    const rows = await rowsUnder(sql, place, { version, after, limit: rowsAtOnce });
    for (const row of rows) walked = await resealRow({ sql, cipher, place, version }, row, walked);
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsAtOnce) break;
    after = last.key;
  }
  return walked;
}

async function resealRow({ sql, cipher, place }: Walk, row: SealedRow, walked: Walked): Promise<Walked> {
  const { clear, cause } = open(cipher, row);
  if (clear === undefined) return { ...walked, unopened: walked.unopened + 1, cause };
  const isOurs = await replaceSealed(sql, place, row, cipher.encrypt(clear, row.context));
  return { ...walked, resealed: walked.resealed + (isOurs ? 1 : 0) };
}

/** Tries whether the key opens one of the values: a wrong key opens none. */
async function sampleVersion({ sql, cipher, place, version }: Walk): Promise<Walked> {
  const [row] = await rowsUnder(sql, place, { version, after: [], limit: 1 });
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

/** The values under one version in one place. */
interface Finding {
  readonly place: string;
  /** Undefined where the stored text names none. */
  readonly version: number | undefined;
  /** How many values wait to be sealed under the newest key. */
  readonly older: number;
  /** How many of the values that were tried cannot be opened. */
  readonly unopened: number;
  readonly cause?: unknown;
}

interface Turn {
  readonly findings: readonly Finding[];
  /** The version that seals. */
  readonly sealing: number;
  readonly resealed: number;
}

interface KeyReportOptions {
  readonly places: readonly string[];
  readonly configured: readonly number[];
}

/** Reports to operators how many values need older keys: always by metrics, and by the log when it changes. */
function createKeyReport(
  { metrics, logger }: Pick<ProcessContext, 'metrics' | 'logger'>,
  { places, configured }: KeyReportOptions,
): (turn: Turn) => void {
  const older = metrics.gauge('sealed_values_under_older_keys', 'Values that wait to be sealed under the newest key', ['place']);
  const unopened = metrics.gauge('sealed_values_unopened', 'Values that none of the configured keys opens', ['place']);
  const newest = Math.max(...configured);
  const unused = configured.filter((version) => version < newest);
  let logged = new Map<string, number>();
  let isDone = false;
  let resealed = 0;

  function measure(findings: readonly Finding[]): void {
    for (const place of places) {
      const here = findings.filter((finding) => finding.place === place);
      older.set({ place }, sum(here.map((finding) => finding.older)));
      unopened.set({ place }, sum(here.map((finding) => finding.unopened)));
    }
  }

  function logUnopened(findings: readonly Finding[]): void {
    const now = new Map<string, number>();
    for (const { place, version = 'none', unopened: values, cause } of findings) {
      if (values === 0) continue;
      now.set(`${place} ${version}`, values);
      if (logged.get(`${place} ${version}`) !== values)
        logger.error({ event: 'sealed_values_unopened', setting: settingName, place, version, values, err: cause ?? missing(version) });
    }
    logged = now;
  }

  return ({ findings, sealing, resealed: more }) => {
    measure(findings);
    logUnopened(findings);
    resealed += more;
    const wasDone = isDone;
    isDone = sealing === newest && unused.length > 0 && findings.every((finding) => finding.older === 0);
    if (isDone && !wasDone) logger.info({ event: 'encryption_keys_unused', setting: settingName, versions: unused, sealing, resealed });
  };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
const missing = (version: number | 'none') => new Error(`${settingName} has no version ${version}`);
