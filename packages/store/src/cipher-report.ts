import type { ProcessContext } from '@agent-service/runtime';

const setting = 'ENCRYPTION_KEYS';

/** What was found under one version in one place. */
export interface Finding {
  readonly place: string;
  /** Undefined where what is stored names none. */
  readonly version: number | undefined;
  /** How many values wait to be sealed under the newest key. */
  readonly older: number;
  /** How many can not be opened, as far as was looked. */
  readonly unopened: number;
  readonly cause?: unknown;
}

interface Turn {
  readonly findings: readonly Finding[];
  /** The version that seals. */
  readonly sealing: number;
  readonly resealed: number;
}

export interface KeyReportOptions {
  readonly places: readonly string[];
  readonly configured: readonly number[];
}

/** Tells operators what older keys are needed for: always by metrics, and by the log when it changes. */
export function createKeyReport(
  { metrics, logger }: Pick<ProcessContext, 'metrics' | 'logger'>,
  { places, configured }: KeyReportOptions,
): (turn: Turn) => void {
  const older = metrics.gauge('sealed_values_under_older_keys', 'Values that wait to be sealed under the newest key', ['place']);
  const unopened = metrics.gauge('sealed_values_unopened', 'Values that none of the configured keys opens', ['place']);
  const newest = Math.max(...configured);
  const unused = configured.filter((version) => version < newest);
  let told = new Map<string, number>();
  let isDone = false;
  let resealed = 0;

  function measure(findings: readonly Finding[]): void {
    for (const place of places) {
      const here = findings.filter((finding) => finding.place === place);
      older.set({ place }, sum(here.map((finding) => finding.older)));
      unopened.set({ place }, sum(here.map((finding) => finding.unopened)));
    }
  }

  function tellUnopened(findings: readonly Finding[]): void {
    const now = new Map<string, number>();
    for (const { place, version = 'none', unopened: values, cause } of findings) {
      if (values === 0) continue;
      now.set(`${place} ${version}`, values);
      if (told.get(`${place} ${version}`) !== values)
        logger.error({ event: 'sealed_values_unopened', setting, place, version, values, err: cause ?? missing(version) });
    }
    told = now;
  }

  return ({ findings, sealing, resealed: more }) => {
    measure(findings);
    tellUnopened(findings);
    resealed += more;
    const wasDone = isDone;
    isDone = sealing === newest && unused.length > 0 && findings.every((finding) => finding.older === 0);
    if (isDone && !wasDone) logger.info({ event: 'encryption_keys_unused', setting, versions: unused, sealing, resealed });
  };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
const missing = (version: number | 'none') => new Error(`${setting} has no version ${version}`);
