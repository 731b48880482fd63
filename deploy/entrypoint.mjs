// Runs one process of the image: `docker run IMAGE gateway`. It is the only process of its container, so signals reach it directly.
import { readdirSync } from 'node:fs';
import { get } from 'node:http';

const bundles = new URL('./dist/', import.meta.url);
const [name = ''] = process.argv.splice(2, 1);

// Settings that only this process may read, as lines NAME='value'. The environment takes precedence.
if (process.env.SETTINGS_FILE) process.loadEnvFile(process.env.SETTINGS_FILE);

if (name === 'health') reportHealth();
else if (name === 'idle') waitForSignal();
else if (isProgram(name)) await import(new URL(`${name}.js`, bundles).href);
else {
  process.stderr.write(`Name the process that this container runs, as in "docker run IMAGE gateway": ${programs().join(', ')}\n`);
  process.exitCode = 64;
}

/** Programs have names; parts of bundles are named by a hash, and the rest is started by programs. */
function programs() {
  const names = readdirSync(bundles).flatMap((file) => /^([a-z-]+)\.js$/.exec(file)?.[1] ?? []);
  return names.filter((each) => !/-(config|migrate|thread-entry|settings-process|apart-main)$/.test(each)).sort();
}

function isProgram(candidate) {
  return programs().includes(candidate);
}

/** A container in which the operator runs commands: `kubectl exec … -- node /app/entrypoint.mjs admin …` */
function waitForSignal() {
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit(0));
  setInterval(() => undefined, 60_000);
}

/** The exit code for a container's health check: 0 while the process of this container is ready. */
function reportHealth() {
  const end = (code) => process.exit(code);
  const request = get({ port: process.env.OPS_PORT || 9090, path: '/readyz', timeout: 2_500 }, ({ statusCode }) =>
    end(statusCode === 200 ? 0 : 1),
  );
  request.on('timeout', () => end(1)).on('error', () => end(1));
}
