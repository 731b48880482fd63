import type { ProcessContext } from '@agent-service/runtime';
import { type Cipher, createCipher } from './cipher.ts';
import { isColumn, type SealedPlace, stockOf } from './cipher-places.ts';
import { createKeyReport, type Finding } from './cipher-report.ts';
import { resealVersion, sampleVersion, type Walked } from './cipher-reseal.ts';
import { sealingVersion } from './cipher-sealing.ts';
import type { EncryptionConfig } from './cipher-settings.ts';
import type { Store } from './store.ts';
import { startSweep } from './sweep.ts';

const everyMs = 60_000;

/**
 * The cipher of one service over all places where it keeps what it sealed. What is under an older key is sealed anew under the
 * newest one while the service runs, so that no key is needed for ever.
 */
export async function openCipher(
  process: ProcessContext,
  store: Store,
  config: EncryptionConfig,
  places: readonly SealedPlace[],
): Promise<Cipher> {
  const rotation = createRotation(process, store, config, places);
  await rotation.look();
  startSweep(process, 'encryption keys', everyMs, () => rotation.turn().then(() => 0));
  return rotation.cipher;
}

interface Stock {
  readonly place: SealedPlace;
  /** Undefined where what is stored names none. */
  readonly version: number | undefined;
  readonly values: number;
}

export interface Rotation {
  readonly cipher: Cipher;
  /** Looks under which keys there is something, and decides by that which one seals. */
  look(): Promise<readonly Stock[]>;
  /** Seals anew what is under older keys than the one that seals, and reports. */
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

  async function look(): Promise<readonly Stock[]> {
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
    look,
    async turn() {
      const before = await look();
      const walks = new Map<string, Walked>();
      for (const stock of before) walks.set(keyOf(stock), await walk(stock));
      const resealed = [...walks.values()].reduce((sum, walked) => sum + walked.resealed, 0);
      // Another replica may have sealed anew what this one did not.
      const after = before.some(isOlder) ? await look() : before;
      // Of a walk that was broken off nothing can be said.
      if (process.stopping.aborted) return;
      report({ findings: after.map((stock) => findingOf(stock, walks.get(keyOf(stock)))), sealing, resealed });
    },
  };
}

const keyOf = ({ place, version }: Stock) => `${place.name} ${version}`;
