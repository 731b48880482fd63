import { processClock } from '@agent-service/runtime/clock';
import { monotonicFactory } from 'ulid';

/** The first letters of an identifier, which say what it names. */
export type IdPrefix =
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
  | 'aud';

const next = monotonicFactory();

/** A new identifier; those made later in one process sort later. */
export const newId = (prefix: IdPrefix, nowMs: number = processClock.now()): string => `${prefix}_${next(nowMs).toLowerCase()}`;
