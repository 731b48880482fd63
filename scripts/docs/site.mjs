// Builds the documentation as a site: npm run docs:site. VitePress is installed on demand into .cache/docs-site, beside a copy of docs, so that neither a clone nor
// its checks carry it. The portal serves the result under /docs/.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const site = join('.cache', 'docs-site');
const lockCopy = join(site, 'node_modules', '.installed-lock.json');

function run(command, options) {
  const { status, error } = spawnSync(command, options, { cwd: site, stdio: 'inherit' });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

/** The documents of now; what was installed and cached stays. */
function copyDocuments() {
  mkdirSync(site, { recursive: true });
  for (const name of ['concepts.md', 'decisions', 'guides', 'operations', 'reference', '.vitepress/theme'])
    rmSync(join(site, name), { recursive: true, force: true });
  cpSync('docs', site, { recursive: true });
}

copyDocuments();
const lock = readFileSync(join(site, 'package-lock.json'), 'utf8');
if (!existsSync(lockCopy) || readFileSync(lockCopy, 'utf8') !== lock) {
  // Not npm ci: it refuses a lock file that lacks the binaries of other platforms, which a registry that mirrors only some of them leaves out.
  run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error']);
  writeFileSync(lockCopy, lock);
}
run(process.execPath, ['node_modules/vitepress/bin/vitepress.js', 'build', '.']);
console.log(`the site is in ${join(site, '.vitepress', 'dist')}`);
