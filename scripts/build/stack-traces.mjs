// The first module of every bundle: stack traces name the sources. The map of a bundle is read when one of its errors is first shown;
// Node itself (--enable-source-maps) would hold the maps of all bundles in memory from the start.

import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

const maps = new Map();

Error.prepareStackTrace = (error, sites) => [describe(error), ...sites.map((site) => `    at ${locate(site)}`)].join('\n');

function describe(error) {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return 'Error';
  }
}

/** The position in the sources; for a file without a map, as Node would show it. */
function locate(site) {
  const text = site.toString();
  const file = site.getFileName();
  const [line, column] = [site.getLineNumber(), site.getColumnNumber()];
  if (!file?.startsWith('file:') || line === null || column === null) return text;
  const entry = mapOf(file)?.findEntry(line - 1, column - 1);
  if (!entry?.originalSource) return text;
  const source = fileURLToPath(new URL(entry.originalSource, file));
  // Maps of packages say only which file it is.
  const location = source.includes('/node_modules/') ? source : `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  return text.replace(`${file}:${line}:${column}`, location);
}

function mapOf(file) {
  if (!maps.has(file)) maps.set(file, readMap(file));
  return maps.get(file);
}

function readMap(file) {
  try {
    return new SourceMap(JSON.parse(readFileSync(fileURLToPath(`${file}.map`), 'utf8')));
  } catch {
    // An error must not fail because its location is unknown.
    return undefined;
  }
}
