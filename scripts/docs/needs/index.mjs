// The needs of blocks that not every machine meets. Each need says what is missing here, and prepares the servers that its blocks are run against.
import { compose } from './compose.mjs';
import { docker } from './docker.mjs';
import { kubernetes, registry } from './kubernetes.mjs';
import { postgresql } from './postgresql.mjs';

/**
 * `findLack()` is why blocks cannot be run here; undefined where they can. `prepare(folder)` makes what blocks find here, with a folder for files. It returns,
 * as far as there is something: `env` for the shell, `adapt` for scripts (what differs from a reader's machine), `check()` for faults after the last block of a
 * document, and `finish()`, which removes what is left.
 */
export const needs = { docker, compose, registry, kubernetes, postgresql };

/** Why needs are not met on this machine, by their names. */
export function findLacks() {
  const lacks = Object.entries(needs).map(([name, { findLack }]) => [name, findLack()]);
  return new Map(lacks.filter(([, lack]) => lack !== undefined));
}
