// Checks that the commands in a document exist: scripts and programs of this repository with their options, and the files, charts and services that they name.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { forEachChild, parse } from 'unbash';
import { parse as parseYaml } from 'yaml';
import { buildProgram } from '../../packages/cli/src/program.ts';
import { catalogue } from '../../packages/local/src/system/catalogue.ts';
import { blocksOf, proseOf } from './blocks.mjs';
import { markOf } from './walk.mjs';

const scriptsOf = (file) => JSON.parse(readFileSync(file, 'utf8')).scripts;
const rootScripts = scriptsOf('package.json');
/** The npm scripts of the repository, and of examples with packages of their own. */
const npmScripts = new Set(['package.json', ...globSync('examples/*/package.json')].flatMap((file) => Object.keys(scriptsOf(file))));
const npmVerbs = new Set(['ci', 'exec', 'init', 'install', 'pack', 'pkg', 'publish', 'sbom', 'view']);
/** Names of the entries of an object at the top of a script that runs when it is imported. */
const longForms = new Set([...readFileSync('scripts/test-long.mjs', 'utf8').matchAll(/^ {2}'?([\w-]+)'?: \{/gm)].map(([, name]) => name));
const scenarios = new Set(
  globSync('bench/src/scenarios/**/*.ts').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/^ {2}name: '([\w-]+)'/gm)].map(([, name]) => name),
  ),
);
const composeServices = Object.keys(parseYaml(readFileSync('docker-compose.yml', 'utf8'), { merge: true }).services);
/** The names that the image's entry point takes. */
const imagePrograms = new Set([
  ...catalogue.map(({ name }) => name),
  ...globSync('packages/local/src/deployment/*.ts').map((file) => basename(file, '.ts')),
  'admin',
  'health',
  'idle',
]);
const settingsText = ['docs/reference/settings.md', 'docker-compose.yml'].map((file) => readFileSync(file, 'utf8')).join('\n');
const operator = buildProgram({}, () => {
  throw new Error('the help needs no connection');
});

/** True for a value of the reader's own: a variable, a word in capitals, an absolute path, a file that the running system makes. */
const isOwn = (word) => /[$…<]|^[A-Z_]+$|^\/|^(\.\/)?\.data\//.test(word);
const isOption = (word) => word.startsWith('-');

/** Every simple command of the blocks of shell and of the code within the prose, and the names of the functions that the blocks define. */
function commandsOf(text) {
  const blocks = blocksOf(text).filter(({ language }) => language === 'sh');
  const spans = [...proseOf(text).matchAll(/`([^`]+)`/g)].map(([, code]) => code.replaceAll('\n', ' '));
  const [commands, functions] = [[], new Set()];
  const visit = (node, isBlock) => {
    if (node.type === 'Command' && node.name) commands.push({ ...toCommand(node), isBlock });
    if (node.type === 'Function') functions.add(node.name.value ?? node.name.text);
    forEachChild(node, (child) => visit(child, isBlock));
  };
  for (const { content } of blocks) visit(parse(content), true);
  for (const code of spans) visit(parse(code), false);
  return { commands, functions };
}

const toCommand = ({ name, prefix = [], suffix = [] }) => ({
  program: name.value ?? name.text,
  words: suffix.map(({ value, text }) => value ?? text),
  settings: prefix.flatMap(({ name: variable, text = '' }) => variable ?? /^(\w+)=/.exec(text)?.[1] ?? []),
});

/** Splits words into options with their values and the others; `valued` names the options that take the next word. */
function readWords(words, valued) {
  const [options, others] = [[], []];
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index];
    if (!isOption(word)) others.push(word);
    else if (valued.includes(word)) options.push([word, words[++index] ?? '']);
    else options.push(/^(--[\w-]+)=(.*)$/.exec(word)?.slice(1) ?? [word, '']);
  }
  return { options, others };
}

/** The source of a program and of what it imports from beside it, where its options are named. */
function sourceOf(file) {
  const text = readFileSync(file, 'utf8');
  const imports = [...text.matchAll(/from '(\.\.?\/[^']+)'/g)].map(([, path]) => join(dirname(file), path));
  return [text, ...imports.filter(existsSync).map((path) => readFileSync(path, 'utf8'))].join('\n');
}

function unknownOptions(file, words) {
  const source = sourceOf(file);
  const isKnown = (option) => source.includes(option) || new RegExp(`['\\s]${option.slice(2)}'?: \\{ type: '`).test(source);
  return words.filter((word) => /^--[a-z]/.test(word)).filter((word) => !isKnown(word.split('=')[0] ?? word));
}

/** True for a file that neither the repository nor the reader has. */
const isMissing = (file, saved) => !isOwn(file) && !saved.has(file) && !existsSync(file);

function npmFaults({ words }) {
  const [verb, ...rest] = words.filter((word) => word !== '--silent');
  if (verb === undefined) return [];
  const [name, ...behind] = verb === 'run' ? rest : [verb, ...rest];
  if (name === undefined || isOwn(name)) return [];
  if (npmScripts.has(name))
    return argumentFaults(
      name,
      behind.filter((word) => word !== '--'),
    );
  if (verb === 'run') return [`npm run ${name}`];
  return npmVerbs.has(verb) ? [] : [`npm ${verb}`];
}

/** Words behind an npm script that it does not know. */
function argumentFaults(name, words) {
  const known = { 'test:long': longForms, bench: scenarios }[name];
  const values = known ? words.filter((word) => /^[a-z][a-z-]+$/.test(word) && !known.has(word)) : [];
  const file = /[\w/-]+\.(?:mjs|ts)/.exec(rootScripts[name] ?? '')?.[0];
  // The options of Jest are not ours, and those of the operator's command line are looked up below.
  const options = file && !['test', 'admin'].includes(name) ? unknownOptions(file, words) : [];
  return [...values, ...options].map((word) => `npm run ${name} -- ${word}`);
}

/** Programs that get a file: `node FILE`, `go run FILE`. */
function fileFaults({ program, words }, saved) {
  const [first = '', ...rest] = words.filter((word) => word !== 'run' || program !== 'go').filter((word) => word !== '--test');
  if (isOption(first) || first === '') return [];
  if (first.endsWith('entrypoint.mjs')) return imagePrograms.has(rest[0]) || !rest[0] ? [] : [`entrypoint.mjs ${rest[0]}`];
  if (program !== 'node' && !/\.\w+$/.test(first)) return [];
  if (isMissing(first, saved)) return [`${basename(program)} ${first}`];
  return existsSync(first) && /\.m?[jt]s$/.test(first) ? unknownOptions(first, rest).map((option) => `node ${first} ${option}`) : [];
}

const dockerVerbs = new Set([
  'build',
  'compose',
  'exec',
  'image',
  'import',
  'info',
  'inspect',
  'logs',
  'ps',
  'pull',
  'push',
  'run',
  'stop',
  'tag',
]);
const composeVerbs = new Set(['build', 'config', 'down', 'exec', 'kill', 'logs', 'ps', 'pull', 'restart', 'run', 'start', 'stop', 'up']);

function dockerFaults({ words }, saved) {
  const [verb, ...rest] = words;
  if (verb === undefined) return [];
  if (!dockerVerbs.has(verb)) return [`docker ${verb}`];
  if (verb === 'compose') return composeFaults(rest, saved);
  if (verb !== 'build') return [];
  const { options, others } = readWords(rest, ['-f', '--file', '-t', '--tag', '--build-arg', '--network', '--target']);
  const files = options.filter(([name]) => name === '-f' || name === '--file').map(([, file]) => file);
  return [...files, ...others].filter((file) => isMissing(file, saved)).map((file) => `docker build ${file}`);
}

function composeFaults(words, saved) {
  const { options, others } = readWords(words, ['-f', '--file', '--profile', '--scale', '--timeout']);
  const [verb, ...names] = others;
  if (verb !== undefined && !composeVerbs.has(verb)) return [`docker compose ${verb}`];
  const files = options.filter(([name, file]) => (name === '-f' || name === '--file') && isMissing(file, saved)).map(([, file]) => file);
  const scaled = options.filter(([name]) => name === '--scale').map(([, value]) => value.split('=')[0]);
  const services = [...scaled, ...(verb === 'run' || verb === 'exec' ? names.slice(0, 1) : names)];
  return [...files, ...services.filter((name) => !isOwn(name) && !composeServices.includes(name))].map(
    (word) => `docker compose … ${word}`,
  );
}

const helmVerbs = {
  install: 1,
  upgrade: 1,
  template: 1,
  lint: 0,
  test: undefined,
  get: undefined,
  history: undefined,
  rollback: undefined,
  uninstall: undefined,
};
const helmValued = ['-n', '--namespace', '-f', '--values', '--set', '--set-string', '--set-file', '--timeout', '--version'];

function helmFaults({ words }, saved) {
  const [verb, ...rest] = words;
  if (verb === undefined) return [];
  if (!Object.hasOwn(helmVerbs, verb)) return [`helm ${verb}`];
  const { options, others } = readWords(rest, helmValued);
  const chart = others[helmVerbs[verb] ?? -1];
  if (chart === undefined) return [];
  if (!existsSync(join(chart, 'Chart.yaml'))) return [`helm ${verb} ${chart}`];
  const values = parseYaml(readFileSync(join(chart, 'values.yaml'), 'utf8'));
  return options.flatMap(([name, value]) => {
    // A file without a folder is the reader's own.
    if (name === '-f' || name === '--values') return value.includes('/') && isMissing(value, saved) ? [`helm ${verb} -f ${value}`] : [];
    if (!name.startsWith('--set')) return [];
    const path = value.split('=')[0] ?? '';
    return hasValue(values, path.split('.')) ? [] : [`helm ${verb} ${name} ${path}`];
  });
}

/** An empty mapping of the chart takes any names. */
function hasValue(values, [name, ...rest]) {
  if (name === undefined) return true;
  if (typeof values !== 'object' || values === null) return false;
  if (Object.keys(values).length === 0) return true;
  return Object.hasOwn(values, name) && hasValue(values[name], rest);
}

const checks = { npm: npmFaults, docker: dockerFaults, helm: helmFaults };
for (const program of ['node', 'node_modules/.bin/node', 'go', 'python', 'python3', 'bash', 'sh']) checks[program] = fileFaults;

/** A variable before a command that starts the system is a setting, or one that the document's models file names. */
function settingFaults({ program, words, settings }, text) {
  const isStart = (program === 'npm' && words[0] === 'start') || (program === 'docker' && words[0] === 'compose');
  return isStart ? settings.filter((name) => !settingsText.includes(name) && !text.includes(`"${name}"`)) : [];
}

/** Calls of the operator's command line: `npm run --silent admin -- NOUN VERB`, `run --rm admin NOUN VERB`, `entrypoint.mjs admin NOUN VERB`. */
function operatorFaults({ words }) {
  const at = words.indexOf('admin');
  const isCall = at > 0 && (words[at - 1] === '--rm' || words[at - 1]?.endsWith('entrypoint.mjs') || words[at + 1] === '--');
  const [noun = '', verb = '', ...rest] = isCall ? words.slice(at + 1).filter((word) => word !== '--') : [];
  if (!/^[a-z]/.test(noun)) return [];
  const command = operator.commands.find((entry) => entry.name() === noun)?.commands.find((entry) => entry.name() === verb);
  if (!command) return [`admin ${noun} ${verb}`];
  const known = new Set([...command.options, ...operator.options].map(({ long }) => long));
  return rest.filter((word) => /^--[a-z]/.test(word) && !known.has(word)).map((option) => `${noun} ${verb} ${option}`);
}

/** The command that `kubectl exec … -- COMMAND` runs. */
function innerCommand({ program, words, settings }) {
  const at = words.indexOf('--');
  const [inner, ...rest] = words.slice(at + 1).filter((word) => word !== 'env' && !/^\w+=/.test(word));
  return program === 'kubectl' && at >= 0 && inner ? [{ program: inner, words: rest, settings }] : [];
}

/** Programs of a reader's machine that documents call. */
const machinePrograms = new Set(
  '. cd createdb curl diff echo export git grep head kubectl ls openssl pg_dump pg_dumpall pg_restore pip psql rm sed set tail tr true vacuumdb'.split(
    ' ',
  ),
);

/** Commands of a document that a reader could not run, each as short as it can be recognized by. */
export function commandFaults(text) {
  const saved = new Set(blocksOf(text).flatMap((block) => markOf(block, 'as') ?? []));
  const { commands, functions } = commandsOf(text);
  const isKnown = ({ program }) =>
    Object.hasOwn(checks, program) || machinePrograms.has(program) || functions.has(program) || isOwn(program);
  const faults = [...commands, ...commands.flatMap(innerCommand)].flatMap((command) => {
    // A program of the repository that is called by its path.
    const isFile = /^(?:\.\/)?(deploy|examples|scripts|packages|bench)\/\S+\.(sh|mjs|ts|py)$/.test(command.program);
    return [
      ...(isFile && isMissing(command.program, saved) ? [command.program] : []),
      ...(command.isBlock && !isFile && !isKnown(command) ? [command.program] : []),
      ...(Object.hasOwn(checks, command.program) ? checks[command.program](command, saved) : []),
      ...operatorFaults(command),
      ...settingFaults(command, text),
    ];
  });
  return [...new Set(faults)];
}
