// Findings of the word list.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { API } from 'typescript/unstable/sync';
import { readComments } from './comments.mjs';
import { bareOpenings, prose, wholeNames, wordsOfNames } from './list.mjs';
import { readFile } from './texts.mjs';

const documents = ['*.md', 'docs/**/*.md', 'clients/**/*.md'];
/** Files outside of the TypeScript programs, whose comments are read. */
const commented = [
  'proto/**/*.proto',
  'deploy/**/*.{yaml,yml,tpl,sh,mjs,Dockerfile}',
  'deploy/Dockerfile',
  '*.yml',
  '.ci/run',
  'clients/**/*.py',
];
const isRead = (path) => !/(^|\/)(node_modules|gen|_generated|\.data|\.cache)\//.test(path) && !path.startsWith('..') && !isOwnList(path);
/** The list itself names the words. */
const isOwnList = (path) => path.startsWith('scripts/words');

/** Every finding below `root`, as `{ path, line, kind, word, instead }`, in order. */
export function findWords(root) {
  const findings = [...projects(root).flatMap((folder) => findInSources(root, folder)), ...findInDocuments(root), ...findInComments(root)];
  return findings.sort((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1));
}

/** `packages/x`, `services/x`, `docs`, or the top folder. */
export const areaOf = (path) => (/^(packages|services)\//.test(path) ? path.split('/').slice(0, 2).join('/') : path.replace(/\/.*/, ''));

/** The pages of the portal are a program of their own, for browsers; the packages that they share are read once. */
const pages = 'services/portal/web';
const projects = (root) => (existsSync(join(root, pages, 'tsconfig.json')) ? ['.', pages] : ['.']);

function findInSources(root, folder) {
  const api = new API({ cwd: root });
  try {
    const { program } = api.updateSnapshot({ openProject: join(root, folder, 'tsconfig.json') }).getProjects()[0];
    const paths = program.getSourceFileNames().map((name) => ({ name, path: relative(root, name) }));
    return paths
      .filter(({ path }) => isRead(path) && (folder === '.' || path.startsWith(folder)))
      .flatMap(({ name, path }) => findInSource(path, program.getSourceFile(name)));
  } finally {
    api.close();
  }
}

function findInSource(path, file) {
  const { comments, texts, names } = readFile(file);
  const lineOf = lineCounter(file.text);
  return [
    ...comments.flatMap((comment) => findInProse(comment, 'comment')),
    ...texts.flatMap((text) => findInProse(text, 'text')),
    ...names.flatMap(findInName),
  ].map(({ position, ...finding }) => ({ path, line: lineOf(position), ...finding }));
}

function findInDocuments(root) {
  return globSync(documents, { cwd: root }).flatMap((path) => {
    const text = readFileSync(join(root, path), 'utf8').replace(/```[\s\S]*?```|`[^`\n]*`/g, (code) => code.replace(/[^\n]/g, '_'));
    const lineOf = lineCounter(text);
    return findInProse({ position: 0, text }, 'document').map(({ position, ...finding }) => ({ path, line: lineOf(position), ...finding }));
  });
}

function findInComments(root) {
  return globSync(commented, { cwd: root })
    .filter(isRead)
    .flatMap((path) => {
      const text = readFileSync(join(root, path), 'utf8');
      const lineOf = lineCounter(text);
      const findings = readComments(path, text).flatMap((comment) => findInProse(comment, 'comment'));
      return findings.map(({ position, ...finding }) => ({ path, line: lineOf(position), ...finding }));
    });
}

function findInProse({ position, text }, kind) {
  const at = ({ index, 0: word }, instead) => ({ position: position + index, kind, word: word.replace(/\s+/g, ' '), instead });
  return [
    ...prose.flatMap(({ pattern, instead }) => [...text.matchAll(pattern)].map((match) => at(match, instead))),
    ...[...text.trimStart().matchAll(bareOpenings)].map((match) => {
      const cut = text.length - text.trimStart().length;
      return { ...at(match, 'subject, verb, object'), position: position + cut + match.index };
    }),
  ];
}

function findInName({ position, name }) {
  const words = name.split(/(?<=[a-z0-9])(?=[A-Z])|_/).map((word) => word.toLowerCase());
  const word = words.find((part) => Object.hasOwn(wordsOfNames, part));
  if (word !== undefined) return [{ position, kind: 'name', word: name, instead: wordsOfNames[word] }];
  return Object.hasOwn(wholeNames, name) ? [{ position, kind: 'name', word: name, instead: wholeNames[name] }] : [];
}

function lineCounter(text) {
  const starts = [...text.matchAll(/\n/g)].map(({ index }) => index);
  return (position) => starts.findLastIndex((start) => start < position) + 2;
}
