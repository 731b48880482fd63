// The bounds that npm run check holds, and what is still beyond them.
import { readFileSync } from 'node:fs';
import { bounds } from './measure.mjs';
import { workspaceOf } from './symbols.mjs';

const mostDuplicates = 40;
const mostTinyFiles = 29;
const mostHelpers = 12;
/** Files of services that someone reads to follow one behaviour from end to end. */
const mostFilesBehind = {
  'accept a message': 29,
  'settle an answer': 19,
  'activate a template': 14,
  'retry a webhook': 14,
  'revoke a key': 7,
};
const allowed = JSON.parse(readFileSync(new URL('allowed.json', import.meta.url), 'utf8'));
const isBelow = (path, folders) => folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
const pathOf = (finding) => finding.split(/[: ]/)[0];

/** The findings that break a bound and are not in allowed.json. */
export function brokenBounds({
  longFunctions,
  longFiles,
  longTests,
  fullFolders,
  folderCycles,
  tinyFiles,
  helpers,
  duplicates,
  testDuplicates,
  behaviours,
}) {
  const foldersOf = (cycle) => cycle.split(' <-> ');
  const repeated = [...duplicates, ...testDuplicates];
  return [
    ...[...Map.groupBy(longFunctions, (finding) => workspaceOf(finding))]
      .filter(([workspace, findings]) => findings.length > (allowed.longFunctions[workspace] ?? 0))
      .flatMap(([, findings]) => findings.map((finding) => `more than ${bounds.functionLines} lines in a function: ${finding}`)),
    ...[...longFiles, ...longTests]
      .filter((finding) => !allowed.longFiles.includes(pathOf(finding)))
      .map((finding) => `more than ${bounds.fileLines} lines in a file: ${finding}`),
    ...folderCycles
      .filter((cycle) => !foldersOf(cycle).every((folder) => isBelow(folder, allowed.folderCycles)))
      .map((cycle) => `folders import each other: ${cycle}`),
    ...fullFolders.map((finding) => `more than ${bounds.folderFiles} files in a folder: ${finding}`),
    ...tooMany(tinyFiles, mostTinyFiles, `files under ${bounds.tinyFile} lines`),
    ...tooMany(helpers, mostHelpers, `helpers under ${bounds.helperFile} lines with one importer`),
    ...behaviours
      .filter(({ name, services }) => services > mostFilesBehind[name])
      .map(({ name, services }) => `${services} files behind "${name}", at most ${mostFilesBehind[name]}`),
    ...(repeated.length < mostDuplicates ? [] : [`${repeated.length} duplicated blocks, not below ${mostDuplicates}:`, ...repeated]),
  ];
}

const tooMany = (findings, most, name) => (findings.length > most ? [`${findings.length} ${name}, at most ${most}:`, ...findings] : []);
