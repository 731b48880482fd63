// The figures about the source files of a checkout.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isFunctionLikeDeclaration } from 'typescript/unstable/ast';
import { behaviours, findEntry } from './behaviours.mjs';
import { duplicatedBlocks } from './duplicates.mjs';
import { exportUsers, folderCycles, importersOf, importGraph } from './imports.mjs';
import { isSource } from './project.mjs';
import { createReach } from './reach.mjs';
import { workspaceOf } from './symbols.mjs';

export const bounds = { functionLines: 70, fileLines: 400, tinyFile: 15, helperFile: 40, folderFiles: 15, duplicateLines: 6 };

/** An index only passes on: what it imports is public. */
const isHelper = (importers) => importers.length === 1 && !importers[0].endsWith('/index.ts');
const isMigration = (path) => /\/migrations\//.test(path);
const lineCount = (text) => text.split('\n').length - (text.endsWith('\n') ? 1 : 0);

/** Findings about the source files below `area`; behaviours only where `area` is everything. */
export function measure(opened, area = '') {
  const isInArea = (path) => area === '' || path === area || path.startsWith(`${area}/`);
  const paths = [...opened.files.keys()].filter(isInArea).sort();
  if (paths.length === 0) throw new Error(`No source files in ${area || opened.root}.`);
  const texts = new Map(paths.map((path) => [path, readFileSync(join(opened.root, path), 'utf8')]));
  const lines = new Map(paths.map((path) => [path, lineCount(texts.get(path))]));
  const graph = importGraph(opened);
  const importers = importersOf(graph);
  const users = [...exportUsers(opened)].filter(([name]) => isInArea(name.split('#')[0]));
  const tests = readTests(opened.root, area);
  const sizes = [...lines.values()].sort((a, b) => a - b);
  return {
    files: paths.length,
    lines: sizes.reduce((sum, count) => sum + count, 0),
    medianFile: sizes[Math.floor(sizes.length / 2)],
    tinyFiles: paths.filter((path) => lines.get(path) < bounds.tinyFile && !path.endsWith('/src/main.ts')).map(sized(lines)),
    longFiles: paths.filter((path) => lines.get(path) > bounds.fileLines).map(sized(lines)),
    longFunctions: paths.flatMap((path) => longFunctions(path, opened.files.get(path))),
    fullFolders: fullFolders(paths),
    folderCycles: folderCycles(graph)
      .filter((group) => group.some(isInArea))
      .map((group) => group.join(' <-> ')),
    helpers: paths
      .filter((path) => lines.get(path) < bounds.helperFile && isHelper([...importers.get(path)]) && !isMigration(path))
      .map((path) => `${path} (${lines.get(path)} lines) <- ${[...importers.get(path)]}`),
    exports: users.length,
    exportsOfOneUser: users.filter(([, files]) => files.size === 1).map(([name, files]) => `${name} <- ${[...files]}`),
    oneUserKinds: Object.groupBy(
      users.flatMap(([name, files]) => (files.size === 1 ? { name, user: [...files][0] } : [])),
      kindOfUse,
    ),
    exportsWithoutUser: users.filter(([, files]) => files.size === 0).map(([name]) => name),
    duplicates: describeBlocks(texts),
    testDuplicates: describeBlocks(tests),
    longTests: [...tests].flatMap(([path, text]) => (lineCount(text) > bounds.fileLines ? [`${path} (${lineCount(text)})`] : [])),
    behaviours: area === '' ? measureBehaviours(opened) : [],
  };
}

/** Tables name each of their entries once: handlers, routes, entities, migrations, the parts of a process. */
const isTable = (path) => /\/(index|entities)\.ts$|\/src\/start\.ts$/.test(path);

function kindOfUse({ name, user }) {
  const path = name.split('#')[0];
  if (isTable(user)) return 'table';
  if (workspaceOf(path) !== workspaceOf(user)) return 'workspace';
  return dirname(path) === dirname(user) ? 'folder' : 'layer';
}

const describeBlocks = (texts) =>
  duplicatedBlocks(texts, bounds.duplicateLines).map(({ length, places }) => `${length} lines: ${places.join(', ')}`);

/** Tests, test support, benchmarks and scripts, which are measured for duplicates and length only. */
function readTests(root, area) {
  const paths = globSync(['{packages,services}/**/*.ts', '{test,bench,scripts}/**/*.{ts,mjs}'], {
    cwd: root,
    exclude: ['**/node_modules', '**/gen'],
  });
  const inArea = paths.filter((path) => !isSource(path) && (area === '' || path.startsWith(`${area}/`))).sort();
  return new Map(inArea.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
}

const sized = (lines) => (path) => `${path} (${lines.get(path)})`;

function longFunctions(path, file) {
  const findings = [];
  const lineOf = (position) => file.text.slice(0, position).split('\n').length;
  const visit = (node) => {
    if (isFunctionLikeDeclaration(node) && node.body) {
      const begin = lineOf(node.getStart(file));
      const length = lineOf(node.end) - begin + 1;
      if (length > bounds.functionLines) findings.push(`${path}:${begin} (${length} lines)`);
    }
    node.forEachChild((child) => void visit(child));
  };
  visit(file);
  return findings;
}

function fullFolders(paths) {
  const counts = new Map();
  for (const path of paths) if (!isMigration(path)) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  return [...counts].filter(([, count]) => count > bounds.folderFiles).map(([folder, count]) => `${folder} (${count})`);
}

function measureBehaviours(opened) {
  const reach = createReach(opened);
  return Object.entries(behaviours).map(([name, entries]) => {
    const reached = [...reach(entries.map((entry) => findEntry(opened, entry))).keys()].sort();
    const services = reached.filter((path) => path.startsWith('services/'));
    const byService = Map.groupBy(services, (path) => path.split('/')[1]);
    return { name, services: services.length, packages: reached.length - services.length, byService, reached };
  });
}
