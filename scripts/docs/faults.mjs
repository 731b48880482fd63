// Checks that the documents hold for a reader: links that lead somewhere, commands that exist, code that compiles.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { loadModule, parseSync } from 'libpg-query';
import { createOpenApi } from '../../services/gateway/src/openapi/document.ts';
import { everyRoute } from '../../services/gateway/src/routes/index.ts';
import { blocksOf, needWords, proseOf, readDocuments } from './blocks.mjs';
import { commandFaults } from './commands.mjs';
import { markOf, needsOf } from './walk.mjs';

await loadModule();

const anchorOf = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/`/g, '')
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
const anchorsIn = (text) => [...proseOf(text).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading));

/** Links to files and headings. Those to other sites are not tried: a check must not depend on them. */
function brokenLinks(documents) {
  return [...documents].flatMap(([path, text]) =>
    [...proseOf(text).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g)]
      .filter(([, target, anchor]) => {
        const file = target === '' ? path : normalize(join(dirname(path), decodeURI(target)));
        if (!documents.has(file) && !existsSync(file)) return true;
        return anchor !== undefined && !anchorsIn(documents.get(file) ?? readFileSync(file, 'utf8')).includes(anchor);
      })
      .map(([link]) => `${path}: the link ${link} leads nowhere`),
  );
}

/** Other forms of links and fences than those that are checked. */
const unknownForms = (documents) =>
  [...documents].flatMap(([path, text]) => [
    ...(proseOf(text).match(/^\[[^\]]+\]: .*$|<(?:a|img) .*?>|\]\([^)\s]+ +"/gm) ?? []).map(
      (link) => `${path}: write ${link} as [text](target)`,
    ),
    ...(text.match(/^\s*~~~.*$/gm) ?? []).map(() => `${path}: write ~~~ as \`\`\``),
  ]);

const unknownCommands = (documents) =>
  [...documents].flatMap(([path, text]) => commandFaults(text).map((command) => `${path}: there is no command "${command}"`));

/** The faults of the blocks of a language; `find` returns the reason why a text is none of that language. */
const blockFaults = (documents, language, find) =>
  [...documents].flatMap(([path, text]) =>
    blocksOf(text)
      .filter((block) => block.language === language)
      .flatMap((block) => {
        const reason = find(block.content);
        return reason === undefined ? [] : [`${path}:${block.line}: ${reason}`];
      }),
  );

/** Parses blocks of a language with a program that reads the block from its standard input; undefined where the program is missing. */
function parseFaults(documents, language, command, options) {
  const faults = [];
  for (const [path, text] of documents)
    for (const { content, line } of blocksOf(text).filter((block) => block.language === language)) {
      const { error, status, stderr } = spawnSync(command, options, { input: content, encoding: 'utf8' });
      if (error) return { faults: [], missing: `${command} is missing: blocks of ${language} are not parsed` };
      if (status !== 0) faults.push(`${path}:${line}: ${stderr.trim().split('\n').at(-1)}`);
    }
  return { faults };
}

const codeFolder = '.cache/docs-code';

/** Compiles every block of TypeScript as a module of its own, in a folder of the repository, from where its packages are found. */
function typeFaults(documents) {
  rmSync(codeFolder, { recursive: true, force: true });
  mkdirSync(codeFolder, { recursive: true });
  const origins = new Map();
  for (const [path, text] of documents)
    for (const { content, line } of blocksOf(text).filter(({ language }) => language === 'ts')) {
      const name = `${path.replaceAll(/[^\w]/g, '_')}_${line}.ts`;
      origins.set(name, { path, line });
      writeFileSync(join(codeFolder, name), `${content}\nexport {};\n`);
    }
  if (origins.size === 0) return [];
  const config = { extends: '../../tsconfig.json', include: ['*.ts'], exclude: [] };
  writeFileSync(join(codeFolder, 'tsconfig.json'), JSON.stringify(config));
  const { stdout } = spawnSync('node_modules/.bin/tsc', ['-p', codeFolder], { encoding: 'utf8' });
  return stdout
    .split('\n')
    .filter((text) => /error TS/.test(text))
    .map((text) => {
      const [, name = '', row = '0', message = text] = /([\w]+\.ts)\((\d+),\d+\): (.*)/.exec(text) ?? [];
      const origin = origins.get(name);
      return origin ? `${origin.path}:${origin.line + Number(row)}: ${message}` : text;
    });
}

function reasonOf(parse) {
  try {
    parse();
    return undefined;
  } catch (cause) {
    return cause.message;
  }
}

/** A JSON block without an ellipsis is JSON. */
const jsonReason = (content) => (content.includes('…') ? undefined : reasonOf(() => JSON.parse(content)));
const sqlReason = (content) => reasonOf(() => parseSync(content));

function iniReason(content) {
  const wrong = content.split('\n').find((line) => !/^(\s*|[;#].*|\[\w+\]|\w+\s*=.+)$/.test(line));
  return wrong === undefined ? undefined : `"${wrong}" is no section and no setting`;
}

const mermaidFolder = join('.cache', 'docs-site', 'node_modules', 'mermaid');

/** Diagrams are parsed by Mermaid itself, which is installed with the site. */
export function diagramFaults(documents) {
  if (!existsSync(mermaidFolder)) return { faults: [], missing: 'diagrams are not parsed: npm run docs:site installs Mermaid' };
  const diagrams = [...documents].flatMap(([path, text]) =>
    blocksOf(text).flatMap(({ language, line, content }) => (language === 'mermaid' ? { path, line, content } : [])),
  );
  const input = JSON.stringify(diagrams.map(({ content }) => content));
  const { stdout, stderr } = spawnSync(process.execPath, ['scripts/docs/diagrams.mjs', mermaidFolder], { input, encoding: 'utf8' });
  if (stdout === '') throw new Error(stderr);
  const errors = JSON.parse(stdout);
  return { faults: diagrams.flatMap(({ path, line }, index) => (errors[index] === null ? [] : `${path}:${line}: ${errors[index]}`)) };
}

const programLanguages = ['sh', 'ts', 'python', 'go'];
/** Blocks of another language would be judged by nothing. */
const languages = [...programLanguages, 'json', 'jsonc', 'sql', 'ini', 'mermaid', 'text'];

/** True where a test names the document, has the text of the block, or names a file that the block calls. */
function isRunBy(test, { content }, document) {
  const text = readFileSync(test, 'utf8');
  const files = content.match(/[\w-]+\/[\w-]+\.\w+/g) ?? [];
  return [basename(document), content.trim(), ...files].some((part) => text.includes(part));
}

/** The reason why the marks of a block say nothing, or nothing true, about how it is run. */
function markReason(block, before, document) {
  const by = markOf(block, 'by');
  const isRun = block.marks.includes('run');
  const unknown = needsOf(block).find((need) => !Object.hasOwn(needWords, need));
  if (!languages.includes(block.language)) return `the language "${block.language}" is none of ${languages.join(', ')}`;
  if (block.marks.includes('output')) return before?.marks.includes('run') ? undefined : 'an output without a block that is run before it';
  if (by !== undefined && !(existsSync(by) && isRunBy(by, block, document))) return `by=${by} names no test that runs it`;
  if (unknown !== undefined) return `needs=${unknown} is none of ${Object.keys(needWords).join(', ')}`;
  if (!isRun && (needsOf(block).length > 0 || block.marks.includes('terminal'))) return 'needs= and terminal are for blocks that are run';
  const isSaid = by ?? markOf(block, 'as') ?? markOf(block, 'file') ?? (isRun || undefined);
  if (programLanguages.includes(block.language) && isSaid === undefined)
    return 'is not run: mark it with run, as=FILE or by=TEST (CONTRIBUTING.md)';
  return undefined;
}

/** Each program of a document is run, or says what runs it or what it needs. */
const markFaults = (documents) =>
  [...documents].flatMap(([path, text]) => {
    const blocks = blocksOf(text);
    return blocks.flatMap((block, index) => {
      const reason = markReason(block, blocks[index - 1], path);
      return reason === undefined ? [] : [`${path}:${block.line}: ${reason}`];
    });
  });

/** How many blocks run only where a machine has what they need. */
function needsNote(documents) {
  const needs = [...documents.values()].flatMap((text) =>
    blocksOf(text)
      .map(needsOf)
      .filter(({ length }) => length > 0),
  );
  const counts = Object.entries(needWords).map(([need, words]) => `${needs.filter((names) => names.includes(need)).length} ${words}`);
  return `${needs.length} blocks are run by npm run test:long -- documents where the machine has what they need: ${counts.join(', ')}`;
}

const samplesTest = 'services/gateway/test/system/samples.test.ts';
const sampleLanguages = { curl: 'sh', TypeScript: 'ts', Python: 'python' };

/** The code samples of the reference page as blocks of one document. */
function sampleDocument() {
  const operations = Object.values(createOpenApi(everyRoute, '/').paths).flatMap((methods) => Object.values(methods));
  const samples = operations.flatMap((operation) => operation['x-codeSamples']);
  return samples.map(({ label, source }) => `\`\`\`${sampleLanguages[label]} by=${samplesTest}\n${source}\n\`\`\``).join('\n\n');
}

/** Everything that is wrong with the documents, and notes about what was not looked at. */
export function findFaults(documents = new Map([...readDocuments(), ['x-codeSamples', sampleDocument()]])) {
  const parsed = [
    parseFaults(documents, 'sh', 'bash', ['-n']),
    parseFaults(documents, 'python', 'python3', ['-c', 'import ast, sys; ast.parse(sys.stdin.read())']),
    parseFaults(documents, 'go', 'gofmt', ['-e']),
    diagramFaults(documents),
  ];
  return {
    faults: [
      ...brokenLinks(documents),
      ...unknownForms(documents),
      ...unknownCommands(documents),
      ...typeFaults(documents),
      ...blockFaults(documents, 'json', jsonReason),
      ...blockFaults(documents, 'sql', sqlReason),
      ...blockFaults(documents, 'ini', iniReason),
      ...markFaults(documents),
      ...parsed.flatMap(({ faults }) => faults),
    ],
    notes: [`${documents.size} documents`, needsNote(documents), ...parsed.flatMap(({ missing }) => missing ?? [])],
  };
}
