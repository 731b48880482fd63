// Docker Compose with a project, an image and ports of its own.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@agent-service/local/host/ports';
import { docker, rememberImages, succeeds } from './docker.mjs';

const project = 'agent-service-documents';
const image = `${project}:local`;
const ports = ['PORT', 'PORTAL_PORT', 'POSTGRES_PORT', 'REDIS_PORT'];

/** docker-compose 1.29 as the plugin of the Docker command that Compose 2 is; docs/operations/install.md says how they differ for a reader. */
const plugin = `#!/bin/sh
[ "$1" != docker-cli-plugin-metadata ] || exec echo '{"SchemaVersion":"0.1.0","Vendor":"docker-compose 1.29"}'
shift
exec docker-compose "$@"
`;

const hasPlugin = () => succeeds('docker', 'compose', 'version');

/** The environment in which the Docker command finds that plugin. */
function writePlugin(folder) {
  const plugins = join(folder, 'docker', 'cli-plugins');
  mkdirSync(plugins, { recursive: true });
  writeFileSync(join(plugins, 'docker-compose'), plugin, { mode: 0o755 });
  // In a terminal it writes each line at once, and into a pipe only whole blocks.
  return { DOCKER_CONFIG: join(folder, 'docker'), PYTHONUNBUFFERED: '1' };
}

export const compose = {
  findLack: () =>
    docker.findLack() ??
    (hasPlugin() || succeeds('docker-compose', 'version') ? undefined : 'there is neither docker compose nor docker-compose'),
  async prepare(folder) {
    const free = await Promise.all(ports.map(async (name) => [name, String(await freePort())]));
    const env = {
      ...(hasPlugin() ? {} : writePlugin(folder)),
      ...Object.fromEntries(free),
      COMPOSE_PROJECT_NAME: project,
      AGENT_SERVICE_IMAGE: image,
    };
    const removeImage = rememberImages([image]);
    return {
      env,
      finish() {
        const { status, stderr } = spawnSync('docker', ['compose', 'down', '--volumes', '--remove-orphans'], {
          env: { ...process.env, ...env },
          encoding: 'utf8',
        });
        removeImage();
        if (status !== 0) throw new Error(`what Compose had started could not be removed: ${stderr}`);
      },
    };
  },
};
