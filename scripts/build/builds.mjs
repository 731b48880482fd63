// Helpers of the builds below .cache. Runs on Node >= 18.
import { existsSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, utimesSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Makes a build unless it is there, and returns its folder. The link leads to it before older builds are removed. */
export async function ensureBuildAt(folder, make, { retained, link }) {
  if (!existsSync(folder)) await makeAtOnce(folder, make);
  const now = new Date();
  utimesSync(folder, now, now);
  if (link !== undefined) pointTo(folder, link);
  removeOldBuilds(dirname(folder), retained);
  return folder;
}

/** Makes a folder that appears complete. A process that makes the same at the same time may be first. */
async function makeAtOnce(folder, make) {
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

/** Replaces the link at once, so that it always leads to a build. */
function pointTo(folder, link) {
  const draft = join(dirname(folder), `${basename(link)}.${process.pid}`);
  rmSync(draft, { force: true });
  symlinkSync(folder, draft);
  renameSync(draft, link);
}

/** A build takes seconds. */
const maxBuildMs = 3_600_000;

/**
 * Removes all but the builds used last, and the drafts of processes that were killed. A process that still runs from an older build could no
 * longer load its rarely used parts.
 */
export function removeOldBuilds(cache, retained) {
  const folders = (pattern) =>
    readdirSync(cache, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && pattern.test(entry.name))
      .map(({ name }) => ({ path: join(cache, name), usedAt: statSync(join(cache, name), { throwIfNoEntry: false })?.mtimeMs ?? 0 }));
  const builds = folders(/^[0-9a-f]{16}$/).sort((a, b) => b.usedAt - a.usedAt);
  const drafts = folders(/^[0-9a-f]{16}\.\d+$/).filter(({ usedAt }) => usedAt < Date.now() - maxBuildMs);
  for (const { path } of [...builds.slice(retained), ...drafts]) rmSync(path, { recursive: true, force: true });
}

/** Leaves out zod's messages in fifty languages. Has to come before other rules for the same files. */
export const loadEnglishMessages = (esbuild) =>
  esbuild.onLoad({ filter: /[/\\]zod[/\\]v4[/\\]locales[/\\]index\.js$/ }, ({ path }) => ({
    contents: "export { default as en } from './en.js';",
    resolveDir: dirname(path),
  }));
