// Runs a program from the build of these sources: `node scripts/run.mjs local`. Without a build it runs from the sources.
import { existsSync, realpathSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sources = { local: 'packages/local/src/start.ts', admin: 'packages/cli/src/main.ts' };
const current = join(root, '.cache', 'build', 'current');

const [name] = process.argv.splice(2, 1);
if (existsSync(current)) {
  // The link may point elsewhere before all parts are loaded.
  const build = realpathSync(current);
  enableCompileCache(join(build, 'compile-cache'));
  await import(pathToFileURL(join(build, `${name}.js`)).href);
} else await import(pathToFileURL(join(root, sources[name])).href);
