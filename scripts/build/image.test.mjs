// The image, built by the Docker engine of this machine, with the classic builder and with BuildKit: npm run test:long -- image
// BUILD_NETWORK=host gives the builds the network of this machine.
import { execFile, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

const run = promisify(execFile);
const tag = 'agent-service-image-test';
const base = process.env.NODE_IMAGE ?? 'node:24-bookworm-slim';
const network = process.env.BUILD_NETWORK ?? 'default';
const buildLimitMs = 900_000;
/** The restrictions of a container of the chart and of Compose. */
const restricted = ['--read-only', '--cap-drop=ALL', '--security-opt=no-new-privileges', '--network=none'];
const long = process.env.IMAGE === 'long' ? describe : describe.skip;

async function buildImage(name, builder) {
  const args = ['build', '--file', 'deploy/Dockerfile', '--network', network, '--build-arg', `NODE_IMAGE=${base}`, '--tag', name, '.'];
  const beganAt = performance.now();
  await run('docker', args, { env: { ...process.env, DOCKER_BUILDKIT: builder === 'BuildKit' ? '1' : '0' }, maxBuffer: 64 * 1024 * 1024 });
  console.log(
    `${builder}: built in ${Math.round((performance.now() - beganAt) / 1000)} s, ${await megabytesBeyondBase(name)} MB beyond ${base}`,
  );
}

async function megabytesBeyondBase(name) {
  const { stdout } = await run('docker', ['image', 'inspect', '--format', '{{.Size}}', name, base]);
  const [size, sizeOfBase] = stdout.trim().split('\n').map(Number);
  return Math.round((size - sizeOfBase) / 1e6);
}

/** Runs a container of the image with options of `docker run`; returns its output and its exit code. */
function runImage(args, options = []) {
  const { status, stdout, stderr } = spawnSync('docker', ['run', '--rm', ...restricted, ...options, tag, ...args], { encoding: 'utf8' });
  return { status, output: `${stdout}${stderr}` };
}

const evaluate = (program) => runImage(['--input-type=module', '-e', program], ['--entrypoint', 'node']).output;

long('the image', () => {
  beforeAll(() => buildImage(tag, 'classic builder'), buildLimitMs);
  afterAll(() => void spawnSync('docker', ['image', 'rm', '--force', tag, `${tag}-buildkit`]));

  test('lists the processes that it can run, every service among them, and refuses others', () => {
    const { status, output } = runImage([]);
    expect(status).toBe(64);
    const programs = output
      .slice(output.indexOf(':') + 2)
      .trim()
      .split(', ');
    expect(programs.filter((name) => /-(config|entry|main|process)$/.test(name))).toEqual([]);
    expect(programs).toEqual(
      expect.arrayContaining([...readdirSync('services'), 'admin', 'migrate', 'setup', 'demonstration', 'smoke-test']),
    );
    expect(runImage(['../../bin/sh']).status).toBe(64);
  });

  test('has a process that starts for each service: without settings it names those that it needs', () => {
    for (const service of readdirSync('services')) {
      const { status, output } = runImage([service]);
      expect([service, status, output]).toEqual([service, 1, expect.stringMatching(/[A-Z]+_[A-Z_]+/)]);
    }
  });

  test('has compiled code that V8 uses for each service', () => {
    for (const service of readdirSync('services')) {
      const { output } = runImage([service], ['--env', 'NODE_DEBUG_NATIVE=COMPILE_CACHE']);
      expect(output).toMatch(new RegExp(`/dist/${service}\\.js was accepted`));
      expect(output).not.toMatch(/reading cache .*permission denied|was rejected/);
    }
  });

  test('runs as a user without rights over its own files', () => {
    const program = `import { globSync, accessSync, constants } from 'node:fs';
      const writable = globSync('/app/**').filter((file) => { try { accessSync(file, constants.W_OK); return true; } catch { return false; } });
      console.log(JSON.stringify([process.getuid(), process.getgid(), writable.filter((file) => !file.includes('compile-cache'))]));`;
    expect(JSON.parse(evaluate(program))).toEqual([10_001, 10_001, []]);
  });

  test('has no sources, tests or packages of the build, and names everything that it has', () => {
    const program = `import { globSync, readFileSync } from 'node:fs';
      const { components } = JSON.parse(readFileSync('/app/sbom.cdx.json', 'utf8'));
      const packages = globSync('/app/node_modules/{*,@*/*}/package.json').map((file) => JSON.parse(readFileSync(file, 'utf8')).name);
      console.log(JSON.stringify({ sources: globSync('/app/**/*.ts', { exclude: (name) => name === 'node_modules' }), packages, components: components.map(({ name, group }) => (group ? group + '/' : '') + name) }));`;
    const { sources, packages, components } = JSON.parse(evaluate(program));
    expect(sources).toEqual([]);
    expect(packages).toEqual(expect.arrayContaining(['libpg-query']));
    expect(components).toEqual(expect.arrayContaining([...packages, 'express', '@grpc/grpc-js', 'bullmq']));
    expect(components.filter((name) => /^(jest|typescript|@biomejs\/.*|vite|esbuild|testcontainers)$/.test(name))).toEqual([]);
  });

  test('has the pages of the portal and templates, and a label with its licence', async () => {
    expect(evaluate("import { existsSync } from 'node:fs'; console.log(existsSync('/app/services/portal/web/dist/index.html'))")).toContain(
      'true',
    );
    const { stdout } = await run('docker', ['image', 'inspect', '--format', '{{json .Config}}', tag]);
    const { Labels: labels, User: user } = JSON.parse(stdout);
    expect([labels['org.opencontainers.image.licenses'], user]).toEqual(['Apache-2.0', '10001:10001']);
  });

  test('is small beside its base', async () => {
    expect(await megabytesBeyondBase(tag)).toBeLessThan(60);
  });

  test(
    'is the same with BuildKit',
    async () => {
      await buildImage(`${tag}-buildkit`, 'BuildKit');
      expect(Math.abs((await megabytesBeyondBase(`${tag}-buildkit`)) - (await megabytesBeyondBase(tag)))).toBeLessThanOrEqual(1);
    },
    buildLimitMs,
  );
});
