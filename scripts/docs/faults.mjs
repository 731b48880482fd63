// Checks that the documents hold for a reader: links that lead somewhere, commands that exist, code that compiles.
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { buildProgram } from '../../packages/cli/src/program.ts';
import { createOpenApi } from '../../services/gateway/src/openapi/document.ts';
import { everyRoute } from '../../services/gateway/src/routes/index.ts';
import { blocksOf, proseOf, readDocuments } from './blocks.mjs';

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

/** The npm scripts of the repository, and of examples with packages of their own. */
const npmScripts = new Set(
  ['package.json', ...globSync('examples/*/package.json')].flatMap((file) => Object.keys(JSON.parse(readFileSync(file, 'utf8')).scripts)),
);
/** Names of the entries of an object at the top of a script that runs when it is imported. */
const longForms = new Set([...readFileSync('scripts/test-long.mjs', 'utf8').matchAll(/^ {2}'?([\w-]+)'?: \{/gm)].map(([, name]) => name));
const scenarios = new Set(
  globSync('bench/src/scenarios/**/*.ts').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/^ {2}name: '([\w-]+)'/gm)].map(([, name]) => name),
  ),
);

function commandFaults(text) {
  const faults = [];
  const joined = text.replaceAll('\\\n', ' ');
  for (const [, name] of joined.matchAll(/npm run (?:--silent )?([\w:]+(?:-\w+)*)/g))
    if (!npmScripts.has(name)) faults.push(`npm run ${name}`);
  for (const [, name] of joined.matchAll(/npm run test:long -- ([a-z]+)/g))
    if (!longForms.has(name)) faults.push(`npm run test:long -- ${name}`);
  for (const [, name] of joined.matchAll(/npm run bench -- ([a-z-]+)/g)) if (!scenarios.has(name)) faults.push(`npm run bench -- ${name}`);
  for (const [, path] of joined.matchAll(/\bnode (scripts\/[\w/-]+\.mjs)/g)) if (!existsSync(path)) faults.push(`node ${path}`);
  return [...faults, ...operatorFaults(joined)];
}

const program = buildProgram({}, () => {
  throw new Error('the help needs no connection');
});

/** Calls of the operator's command line: `npm run --silent admin -- NOUN VERB`, `run --rm admin NOUN VERB`, `entrypoint.mjs admin NOUN VERB`. */
function operatorFaults(text) {
  const calls = text.matchAll(
    /(?:npm run --silent admin --|--rm admin|entrypoint\.mjs admin) +([a-z][a-z-]*) +([a-z][a-z-]*)([^\n`#|>]*)/g,
  );
  return [...calls].flatMap(([call, noun, verb, rest]) => {
    const command = program.commands.find((entry) => entry.name() === noun)?.commands.find((entry) => entry.name() === verb);
    if (!command) return [call.trim()];
    const known = new Set([...command.options, ...program.options].map(({ long }) => long));
    return [...rest.matchAll(/(?<=\s)--[a-z][a-z-]*/g)]
      .filter(([option]) => !known.has(option))
      .map(([option]) => `${noun} ${verb} ${option}`);
  });
}

const unknownCommands = (documents) =>
  [...documents].flatMap(([path, text]) => commandFaults(text).map((command) => `${path}: there is no command "${command}"`));

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

/** A JSON block without an ellipsis is JSON. */
const jsonFaults = (documents) =>
  [...documents].flatMap(([path, text]) =>
    blocksOf(text)
      .filter(({ language, content }) => language === 'json' && !content.includes('…'))
      .flatMap(({ content, line }) => {
        try {
          JSON.parse(content);
          return [];
        } catch (cause) {
          return [`${path}:${line}: ${cause.message}`];
        }
      }),
  );

/** A block that a test runs stands in a document that the test knows, and an expected output behind a block that runs. */
const markFaults = (documents) =>
  [...documents].flatMap(([path, text]) => {
    const blocks = blocksOf(text);
    return blocks
      .filter(({ marks }, index) => marks.includes('output') && !blocks[index - 1]?.marks.includes('run'))
      .map(({ line }) => `${path}:${line}: an output without a block that is run before it`);
  });

const sampleLanguages = { curl: 'sh', TypeScript: 'ts', Python: 'python' };

/** The code samples of the reference page as blocks of one document. */
function sampleDocument() {
  const operations = Object.values(createOpenApi(everyRoute, '/').paths).flatMap((methods) => Object.values(methods));
  const samples = operations.flatMap((operation) => operation['x-codeSamples']);
  return samples.map(({ label, source }) => `\`\`\`${sampleLanguages[label]}\n${source}\n\`\`\``).join('\n\n');
}

/** Everything that is wrong with the documents, and notes about what was not looked at. */
export function findFaults(documents = new Map([...readDocuments(), ['samples of the OpenAPI document', sampleDocument()]])) {
  const parsed = [
    parseFaults(documents, 'sh', 'bash', ['-n']),
    parseFaults(documents, 'python', 'python3', ['-c', 'import ast, sys; ast.parse(sys.stdin.read())']),
    parseFaults(documents, 'go', 'gofmt', ['-e']),
  ];
  return {
    faults: [
      ...brokenLinks(documents),
      ...unknownCommands(documents),
      ...typeFaults(documents),
      ...jsonFaults(documents),
      ...markFaults(documents),
      ...parsed.flatMap(({ faults }) => faults),
    ],
    notes: [`${documents.size} documents`, ...parsed.flatMap(({ missing }) => missing ?? [])],
  };
}
