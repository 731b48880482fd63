import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { dockerHost } from './settings.ts';

/** A look at the usual places, so that a machine without Docker does not pay for asking an engine. */
export function mayHaveDocker(): boolean {
  const sockets = ['/var/run/docker.sock', join(homedir(), '.docker/run/docker.sock'), join(homedir(), '.colima/default/docker.sock')];
  return Boolean(dockerHost) || sockets.some((socket) => existsSync(socket));
}
