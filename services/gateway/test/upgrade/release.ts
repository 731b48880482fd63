import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { repositoryRoot } from '@agent-service/local/host/environment';
import { mainFileOf } from '@agent-service/testkit';

/** The descriptions of a release: the commit that last changed them is the last release. */
const descriptions = ['released/protos.binpb', 'released/jobs.json', 'released/migrations.json'];

/** The folder of a build of an older state of this repository: `from` is a commit, or a folder with its files; by default the commit of the last release. */
export function olderBuild(from: string | undefined): string {
  const files = from !== undefined && existsSync(from) ? from : filesOf(commitOf(from));
  if (!existsSync(join(files, '.cache', 'build', 'current'))) run('node', ['scripts/bootstrap.mjs', '--build'], files);
  return realpathSync(join(files, '.cache', 'build', 'current'));
}

const run = (command: string, args: readonly string[], cwd = repositoryRoot): string =>
  execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 256 * 1024 * 1024 }).trim();

function commitOf(name: string | undefined): string {
  const commit =
    name === undefined ? run('git', ['log', '-1', '--format=%H', '--', ...descriptions]) : run('git', ['rev-parse', `${name}^{commit}`]);
  if (commit === '') throw new Error('there is no commit of a release here: name one, or a folder with its files, in UPGRADE_FROM');
  return commit;
}

/** The files of a commit, in a folder that is kept for the next run. */
function filesOf(commit: string): string {
  const folder = join(repositoryRoot, '.cache', 'releases', commit.slice(0, 12));
  if (existsSync(folder)) return folder;
  const draft = `${folder}.${process.pid}`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  run('sh', ['-c', `git archive ${commit} | tar -x -C '${draft}'`]);
  renameSync(draft, folder);
  return folder;
}

/** A folder that stands for a build, in which a test chooses for each process the build that its next start runs. */
export interface MixedBuild {
  readonly folder: string;
  /** From its next start on, the process runs from the older build, or from the newer one, which are the present sources. */
  use(which: 'older' | 'newer', process: string): void;
}

/** Every process starts from the older build; settings are those of the present sources. */
export function mixBuilds(folder: string, older: string): MixedBuild {
  const newer = dirname(mainFileOf('gateway', 'no build'));
  if (!existsSync(join(newer, 'gateway.js'))) throw new Error('this test replaces builds: run it without TEST_SOURCES');
  if (basename(older) === basename(newer)) throw new Error('the older sources are the present ones: name another commit in UPGRADE_FROM');
  const builds = { older, newer };
  const link = (which: 'older' | 'newer', name: string, statement: string) =>
    writeFileSync(join(folder, `${name}.js`), `${statement} '${pathToFileURL(join(builds[which], `${name}.js`)).href}';\n`);
  const use = (which: 'older' | 'newer', name: string) => link(which, name, 'import');
  for (const file of readdirSync(newer)) {
    const [, name = '', config] = /^([a-z-]+?)(-config)?\.js$/.exec(file) ?? [];
    if (config !== undefined) {
      link('newer', `${name}-config`, 'export * from');
      // A process that the older release does not have runs beside it, as in the middle of an upgrade.
      use(existsSync(join(older, `${name}.js`)) ? 'older' : 'newer', name);
    }
  }
  return { folder, use };
}
