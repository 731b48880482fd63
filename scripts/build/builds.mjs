// Helpers of the builds below .cache. Runs on Node >= 18.
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Makes a folder that appears complete. A process that makes the same at the same time may be first. */
export async function makeAtOnce(folder, make) {
  const draft = `${folder}.${process.pid}`;
  try {
    await make(draft);
    renameSync(draft, folder);
  } catch (cause) {
    if (!existsSync(folder)) throw cause;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Removes all but the builds used last. A process that still runs from an older one could no longer load its rarely used parts. */
export function removeOldBuilds(cache, retained) {
  const builds = readdirSync(cache, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && /^[0-9a-f]{16}$/.test(entry.name))
    .map(({ name }) => ({ path: join(cache, name), usedAt: statSync(join(cache, name)).mtimeMs }))
    .sort((a, b) => b.usedAt - a.usedAt);
  for (const { path } of builds.slice(retained)) rmSync(path, { recursive: true, force: true });
}

/** Leaves out zod's messages in fifty languages. Has to come before other rules for the same files. */
export const loadEnglishMessages = (esbuild) =>
  esbuild.onLoad({ filter: /[/\\]zod[/\\]v4[/\\]locales[/\\]index\.js$/ }, ({ path }) => ({
    contents: "export { default as en } from './en.js';",
    resolveDir: dirname(path),
  }));
