import { randomBytes } from 'node:crypto';

const renewEveryMs = 30_000;
const challengeBytes = 12;
/** Beyond so many effects in one period a new one begins early, so that what is remembered stays bounded. */
const maxRemembered = 100_000;

interface Period {
  readonly challenge: string;
  readonly beganAt: number;
  readonly signatures: Set<string>;
}

/**
 * Callers of this process sign its challenge, so that a captured call is refused elsewhere and later. No clock of another process
 * matters: a challenge is good while this process remembers it, for 30 to 60 seconds of its own monotonic clock.
 */
export class Challenges {
  readonly #now: () => number;
  #present: Period;
  #before: Period | undefined;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#present = this.#begin();
  }

  get present(): string {
    this.#renew();
    return this.#present.challenge;
  }

  isGood(challenge: string): boolean {
    return this.#periodOf(challenge) !== undefined;
  }

  /** Accepts a call that has an effect; false for a call that was accepted before under the same signature. */
  acceptOnce(challenge: string, signature: string): boolean {
    const period = this.#periodOf(challenge);
    if (!period || period.signatures.has(signature)) return false;
    period.signatures.add(signature);
    return true;
  }

  #periodOf(challenge: string): Period | undefined {
    this.#renew();
    return [this.#present, this.#before].find((period) => period?.challenge === challenge);
  }

  #renew(): void {
    const age = this.#now() - this.#present.beganAt;
    if (age < renewEveryMs && this.#present.signatures.size < maxRemembered) return;
    // After a long pause of this process both are too old.
    this.#before = age < 2 * renewEveryMs ? this.#present : undefined;
    this.#present = this.#begin();
  }

  #begin(): Period {
    return { challenge: randomBytes(challengeBytes).toString('base64url'), beganAt: this.#now(), signatures: new Set() };
  }
}
