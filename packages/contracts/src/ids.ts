import { randomFillSync } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { processClock } from '@agent-service/runtime/clock';
import { monotonicFactory } from 'ulid';
import type { Environment } from './callers/principal.ts';

/** The first letters of an identifier, which say what it names. */
type IdPrefix =
  | 'org'
  | 'usr'
  | 'key'
  | 'app'
  | 'agt'
  | 'tpl'
  | 'conv'
  | 'msg'
  | 'use'
  | 'whk'
  | 'evt'
  | 'dlv'
  | 'hld'
  | 'trf'
  | 'aud'
  | 'ses'
  | 'inv';

const randomWords = new Uint32Array(256);
let wordsUsed = randomWords.length;

/** A number from 0 up to 1. The library asks for one for each character, and the system's source costs as much for one as for many. */
function nextRandom(): number {
  if (wordsUsed === randomWords.length) {
    randomFillSync(randomWords);
    wordsUsed = 0;
  }
  const word = randomWords[wordsUsed] as number;
  wordsUsed += 1;
  return word / 2 ** 32;
}

/** The time may vary by this between two measurements of the followed clock. A clock that is further back was set. */
const variationMs = 10_000;

interface Sequence {
  readonly next: ReturnType<typeof monotonicFactory>;
  latestMs: number;
}

const sequences = new Map<IdPrefix, Sequence>();

/** A new identifier. Those of one kind that are made later in one process sort later, unless its clock was set back in between. */
export function newId(prefix: IdPrefix, nowMs: number = processClock.now()): string {
  let sequence = sequences.get(prefix);
  // The library would use the latest time until the clock has come to it, and services refuse messages whose time is far ahead.
  if (sequence === undefined || nowMs < sequence.latestMs - variationMs) {
    sequence = { next: monotonicFactory(nextRandom), latestMs: 0 };
    sequences.set(prefix, sequence);
  }
  sequence.latestMs = Math.max(sequence.latestMs, nowMs);
  return `${prefix}_${sequence.next(nowMs).toLowerCase()}`;
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const shape = /^sa_(?:live|test)_[0-9A-Za-z]{38}$/;
const checksumLength = 6;

function checksum(text: string): string {
  let rest = crc32(text);
  let letters = '';
  while (letters.length < checksumLength) {
    letters = alphabet.charAt(rest % alphabet.length) + letters;
    rest = Math.floor(rest / alphabet.length);
  }
  return letters;
}

/** A key from 32 random characters; its last six are a checksum, so garbage is refused without a look-up. */
export function makeApiKey(environment: Environment, random: string): string {
  const body = `sa_${environment}_${random}`;
  return body + checksum(body);
}

/** True if the text has the form of a key. The key itself may not exist. */
export function isWellFormedApiKey(text: string): boolean {
  return shape.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength);
}
