// Measures how the source files are cut: npm run structure -- [folder] [--list] [--json] [--check] [--root <checkout>]
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { brokenBounds } from './structure/check.mjs';
import { bounds, measure } from './structure/measure.mjs';
import { openProject, pages } from './structure/project.mjs';

const help = `npm run structure -- [folder] [--list] [--json] [--check] [--root <checkout>]

Figures about the source files of packages/ and services/, or of one folder. Tests, test support (packages/testkit, testing/) and
generated code are left out. --list names every finding, --json prints all of it, --check fails beyond the bounds on functions, files,
folder cycles, duplicates and the files behind each behaviour unless scripts/structure/allowed.json names the finding, --root measures another
checkout (with dependencies).

exports with one user   exported names that exactly one other source file imports; passing a name on is no use of it. Its parts:
  named in a table      the user is an index.ts, start.ts or entities.ts: a handler, route, entity or part of a process, which is named once
  in another workspace  the user is in another package or service: a public entry that has one user today
  in another folder     the user is in another folder of the workspace, mostly a layer: a statement of store/ and the method that runs it
  in the same folder    the user stands beside it: the two files may be one subject, and these are the candidates to fuse
helpers                 files under ${bounds.helperFile} lines that exactly one file imports
folder cycles           groups of folders whose files import each other (the folder src itself, where start.ts is, aside)
duplicated blocks       ${bounds.duplicateLines} or more lines in a row that stand in two places; blanks, comments, imports and lone brackets aside
files behind            the source files with code that may run when the behaviour's entries do: from the entries the walk follows
                        references to functions, constants, classes and members, through interfaces to what implements them.
                        It does not follow types or libraries, fields that only hold data, parameters that are functions, start.ts,
                        or calls over gRPC: the other side's handler is an entry of its own. Files of packages are counted apart.`;

const useKinds = [
  ['table', 'named in a table'],
  ['workspace', 'in another workspace'],
  ['layer', 'in another folder of the workspace'],
  ['folder', 'in the same folder'],
];
const share = (count, { exports }) => ((100 * count) / exports).toFixed(1);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', short: 'h' },
    list: { type: 'boolean' },
    json: { type: 'boolean' },
    check: { type: 'boolean' },
    root: { type: 'string', default: '.' },
  },
});

if (values.help) console.log(help);
else {
  const area = positionals[0]?.replace(/\/$/, '');
  if (values.check) check([figuresOf('.'), figuresOf(pages, pages)]);
  else {
    const figures = figuresOf(area?.startsWith(pages) ? pages : '.', area);
    console.log(
      values.json ? JSON.stringify(figures, (_, value) => (value instanceof Map ? Object.fromEntries(value) : value), 2) : report(figures),
    );
  }
}

function figuresOf(folder, area) {
  const opened = openProject(resolve(values.root), folder);
  try {
    return measure(opened, area);
  } finally {
    opened.close();
  }
}

function check(measured) {
  const findings = measured.flatMap(brokenBounds);
  for (const line of findings) console.log(line);
  console.log(`${measured.reduce((sum, { files }) => sum + files, 0)} source files`);
  process.exitCode = findings.length > 0 ? 1 : 0;
}

function report(figures) {
  const rows = [
    ['source files', figures.files],
    ['lines', figures.lines],
    ['median lines a file', figures.medianFile],
    [`files under ${bounds.tinyFile} lines (without main.ts)`, figures.tinyFiles],
    [`files over ${bounds.fileLines} lines`, figures.longFiles],
    [`tests over ${bounds.fileLines} lines`, figures.longTests],
    [`functions over ${bounds.functionLines} lines`, figures.longFunctions],
    [`folders over ${bounds.folderFiles} files`, figures.fullFolders],
    ['folder cycles', figures.folderCycles],
    [`helpers under ${bounds.helperFile} lines with one importer`, figures.helpers],
    ['exports', figures.exports],
    ['exports with one user', figures.exportsOfOneUser, ` (${share(figures.exportsOfOneUser.length, figures)} %)`],
    ...useKinds.map(([kind, label]) => {
      const { length } = figures.oneUserKinds[kind] ?? [];
      return [`  ${label}`, length, ` (${share(length, figures)} %)`];
    }),
    ['exports without a user in the sources', figures.exportsWithoutUser],
    [`duplicated blocks of ${bounds.duplicateLines} lines`, figures.duplicates],
    ['the same in tests, benchmarks and scripts', figures.testDuplicates],
  ];
  const lines = rows.flatMap(([name, value, note = '']) => {
    const findings = Array.isArray(value) ? value : [];
    const line = `${name.padEnd(46)} ${String(Array.isArray(value) ? value.length : value).padStart(6)}${note}`;
    return values.list ? [line, ...findings.map((finding) => `    ${finding}`)] : [line];
  });
  for (const { name, services, packages, byService, reached } of figures.behaviours) {
    const parts = [...byService].map(([service, paths]) => `${service} ${paths.length}`).join(', ');
    lines.push(`${`files behind "${name}"`.padEnd(46)} ${String(services).padStart(6)} (${parts}), and ${packages} in packages`);
    if (values.list) lines.push(...reached.map((path) => `    ${path}`));
  }
  return lines.join('\n');
}
