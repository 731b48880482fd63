// Everything that can be said of the code without running it. Each check prints its own findings; all are run.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

const fewestModules = 150;

const run = (command, ...args) => spawnSync(`node_modules/.bin/${command}`, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });

/** dependency-cruiser exits 0 when it understood nothing, so the number of modules it saw is part of the check. */
function boundaries() {
  const folders = ['packages', 'services', 'bench', 'test'].filter((folder) => existsSync(folder));
  const result = run('depcruise', '--config', '.dependency-cruiser.cjs', '--output-type', 'json', ...folders);
  if (!result.stdout) return { status: 1, output: result.stderr };
  const { summary } = JSON.parse(result.stdout);
  const findings = summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`);
  if (summary.totalCruised < fewestModules)
    findings.push(`only ${summary.totalCruised} modules were looked at, fewer than ${fewestModules}`);
  return { status: findings.length > 0 ? 1 : 0, output: findings.join('\n'), note: `${summary.totalCruised} modules` };
}

/** A lock file that npm ci refuses would break every fresh clone. */
function lockFile() {
  const result = spawnSync('npm', ['ci', '--dry-run', '--ignore-scripts', '--loglevel=error'], { encoding: 'utf8' });
  return { status: result.status, output: result.stderr };
}

const tool =
  (command, ...args) =>
  () => {
    const { status, stdout, stderr } = run(command, ...args);
    return { status, output: `${stdout}${stderr}` };
  };

const script = (name) => () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [`scripts/${name}.mjs`, '--check'], { encoding: 'utf8' });
  return { status, output: `${stdout}${stderr}`, note: stdout.trim().split('\n').at(-1) };
};

/** Its last line says how large the client is. */
function clientPackage() {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/client-package.mjs'], { encoding: 'utf8' });
  return { status, output: `${stdout}${stderr}`, note: stdout.trim().split('\n').at(-1) };
}

/** Says so where oasdiff is not installed. */
function openapi() {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/openapi.mjs', '--check'], { encoding: 'utf8' });
  return { status, output: `${stdout}${stderr}`, note: stdout.trim().split('\n')[0] };
}

/** The document is that of the check before. Says so where Python is not installed. */
function pythonClient() {
  const { status, error, stderr } = spawnSync('python3', ['clients/python/generate.py', '.cache/openapi/openapi.json', '--compare'], {
    encoding: 'utf8',
  });
  if (error?.code === 'ENOENT') return { status: 0, output: '', note: 'skipped: python3 is not installed' };
  return { status, output: stderr };
}

/** Exits with 2 where Helm is not installed. */
function chart() {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/chart.mjs'], { encoding: 'utf8' });
  if (status === 2) return { status: 0, output: '', note: `skipped: ${stdout.trim()}` };
  return { status, output: `${stdout}${stderr}`, note: stdout.trim().split('\n').at(-1) };
}

const checks = {
  'types (tsc)': tool('tsc', '-p', '.'),
  'types of the pages (tsc)': tool('tsc', '-p', 'services/portal/web'),
  'format and lint (biome)': tool('biome', 'check', '--error-on-warnings', '.'),
  'import boundaries and cycles (dependency-cruiser)': boundaries,
  'unused code and dependencies (knip)': tool('knip', '--no-progress'),
  'structure (scripts/structure.mjs)': script('structure'),
  'words (scripts/words.mjs)': script('words'),
  'documentation (scripts/docs.mjs)': script('docs'),
  'protos (buf lint)': tool('buf', 'lint', 'proto'),
  'protos (buf format)': tool('buf', 'format', '--diff', '--exit-code', 'proto'),
  'packages of the client and of testcontainers (publint, arethetypeswrong, TypeScript 5 and 7, esbuild)': clientPackage,
  'upgrades: protos, jobs and migrations beside those of the last release': script('released'),
  'OpenAPI document beside that of the last release (oasdiff)': openapi,
  'Python client beside the OpenAPI document (generate.py --compare)': pythonClient,
  'chart (helm)': chart,
  'lock file (npm ci --dry-run)': lockFile,
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  const started = performance.now();
  const { status, output, note } = check();
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${status === 0 ? 'ok  ' : 'FAIL'} ${name}${note ? `, ${note}` : ''} (${seconds} s)`);
  if (status !== 0) {
    failed += 1;
    console.log(output.trimEnd());
  }
}
console.log(failed === 0 ? 'All checks passed.' : `${failed} of ${Object.keys(checks).length} checks failed.`);
process.exitCode = failed === 0 ? 0 : 1;
