// Who imports what: files, folders, exports.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { SymbolFlags } from 'typescript/unstable/sync';
import { SyntaxKind } from './project.mjs';

/** For each source file the source files that it imports or exports from. */
export function importGraph({ root, files }) {
  const resolve = createResolver(root, files);
  return new Map([...files].map(([path, file]) => [path, new Set(moduleNames(file).flatMap((name) => resolve(path, name) ?? []))]));
}

function moduleNames(file) {
  return file.statements.flatMap(({ moduleSpecifier }) => (moduleSpecifier?.text === undefined ? [] : [moduleSpecifier.text]));
}

function createResolver(root, files) {
  const packages = new Map();
  for (const folder of new Set([...files.keys()].map((path) => path.split('/').slice(0, 2).join('/')))) {
    const manifest = join(root, folder, 'package.json');
    if (existsSync(manifest)) packages.set(JSON.parse(readFileSync(manifest, 'utf8')).name, folder);
  }
  return (from, name) => {
    if (name.startsWith('.')) return known(posix.normalize(posix.join(posix.dirname(from), name)));
    const [scope, short, ...rest] = name.split('/');
    const folder = packages.get(`${scope}/${short}`);
    if (folder === undefined) return undefined;
    return rest.length === 0 ? known(`${folder}/src/index.ts`) : known(`${folder}/src/${rest.join('/').replace(/\.ts$/, '')}.ts`);
  };
  function known(path) {
    return files.has(path) ? path : undefined;
  }
}

/** The files that import each file. */
export function importersOf(graph) {
  const importers = new Map([...graph.keys()].map((path) => [path, new Set()]));
  for (const [path, imported] of graph) for (const target of imported) if (target !== path) importers.get(target).add(path);
  return importers;
}

/**
 * Groups of folders that import each other. The folder `src` itself takes no part: `start.ts` imports everything and everything may
 * import `config.ts` or `context.ts`.
 */
export function folderCycles(graph) {
  const folders = new Map();
  for (const [path, imported] of graph) {
    const from = dirname(path);
    if (from.endsWith('/src')) continue;
    if (!folders.has(from)) folders.set(from, new Set());
    for (const target of imported) {
      const to = dirname(target);
      if (to !== from && !to.endsWith('/src')) folders.get(from).add(to);
    }
  }
  return stronglyConnected(folders).filter((group) => group.length > 1);
}

/** Tarjan's algorithm. */
function stronglyConnected(graph) {
  const indices = new Map();
  const lows = new Map();
  const stack = [];
  const groups = [];
  function visit(node) {
    indices.set(node, indices.size);
    lows.set(node, indices.get(node));
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!indices.has(next)) visit(next);
      if (stack.includes(next)) lows.set(node, Math.min(lows.get(node), lows.get(next)));
    }
    if (lows.get(node) === indices.get(node)) groups.push(stack.splice(stack.indexOf(node)).sort());
  }
  for (const node of graph.keys()) if (!indices.has(node)) visit(node);
  return groups;
}

/** Each export of a source file with the source files that name it; files that only pass it on do not count. */
export function exportUsers({ files, checker, project, pathOf }) {
  const users = new Map();
  for (const [path, file] of files) for (const name of exportedNames(file)) users.set(`${path}#${name}`, new Set());
  for (const [path, file] of files) {
    const names = importedNames(file);
    const symbols = checker.getSymbolAtLocation(names);
    for (const symbol of symbols) {
      const target = symbol && (symbol.flags & SymbolFlags.Alias) !== 0 ? checker.getAliasedSymbol(symbol) : symbol;
      for (const handle of target?.declarations ?? []) {
        const declaration = handle.resolve(project);
        users.get(`${declaration && pathOf(declaration.getSourceFile().fileName)}#${target.name}`)?.add(path);
      }
    }
  }
  return users;
}

function importedNames(file) {
  return file.statements.flatMap(({ importClause }) => importClause?.namedBindings?.elements?.map(({ name }) => name) ?? []);
}

function exportedNames(file) {
  return file.statements.flatMap((statement) => {
    if (!statement.modifiers?.some(({ kind }) => kind === SyntaxKind.ExportKeyword)) return [];
    if (statement.declarationList) return statement.declarationList.declarations.flatMap(({ name }) => name.text ?? []);
    return statement.name?.text ?? [];
  });
}
