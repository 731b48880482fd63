// The pages of docs/reference, and the table of docs/errors.md, from the code that they describe: settings from the schemas of the processes, codes from their
// table, events from their types, commands from their help.
import { readFileSync } from 'node:fs';
import { buildProgram } from '../../packages/cli/src/program.ts';
import { publicErrorCodes } from '../../packages/contracts/src/errors/error-codes.ts';
import { eventDescriptions } from '../../packages/contracts/src/event-types.ts';
import { catalogue } from '../../packages/local/src/system/catalogue.ts';
import { localSettings } from '../../packages/local/src/system/settings.ts';
import { agentsSettings } from '../../services/agents/src/config.ts';
import { answerWorkerSettings } from '../../services/answer-worker/src/config.ts';
import { creditsSettings } from '../../services/credits/src/config.ts';
import { gatewaySettings } from '../../services/gateway/src/config.ts';
import { identitySettings } from '../../services/identity/src/config.ts';
import { portalSettings } from '../../services/portal/src/config.ts';
import { templatesSettings } from '../../services/templates/src/config.ts';
import { dispatcherSettings } from '../../services/webhook-dispatcher/src/config.ts';
import { webhooksSettings } from '../../services/webhooks/src/config.ts';
import { answersTable, processorsTable, shardsTable, table } from '../scale/tables.mjs';

/** The schema of the settings of each process of the catalogue. */
const schemas = {
  identity: identitySettings,
  credits: creditsSettings,
  agents: agentsSettings,
  templates: templatesSettings,
  'answer-worker': answerWorkerSettings,
  webhooks: webhooksSettings,
  'webhook-dispatcher': dispatcherSettings,
  gateway: gatewaySettings,
  portal: portalSettings,
};

const isGenerated = '<!-- Written by `npm run docs:generate`. Any change of this part is lost. -->';
const inCell = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** A schema and every schema that it wraps: defaults, optional values and the two ends of pipes. */
function layersOf(schema) {
  const { innerType, in: input, out } = schema.def;
  return [schema, ...[innerType, input, out].filter(Boolean).flatMap(layersOf)];
}

function describeSchema(schema) {
  const layers = layersOf(schema);
  const layer = (type) => layers.find(({ def }) => def.type === type);
  const [choice, number] = [layer('enum'), layer('number')];
  const bounds = number && `${number.minValue.toLocaleString('en')} to ${number.maxValue.toLocaleString('en')}`;
  return {
    fallback: layer('default')?.def.defaultValue,
    isRequired: !layer('default') && !layer('optional'),
    accepts: choice ? choice.options.map((option) => `\`${option}\``).join(', ') : (bounds ?? ''),
  };
}

function defaultText({ fallback, isRequired }) {
  if (isRequired) return 'set by `npm start`';
  if (fallback === undefined || fallback === '' || (Array.isArray(fallback) && fallback.length === 0)) return 'none';
  return `\`${String(fallback)}\``;
}

function settingRow(name, schema, processes) {
  if (!schema.description) throw new Error(`${name} has no description: end it with .describe('…') in its schema`);
  const described = describeSchema(schema);
  return [`\`${name}\``, defaultText(described), described.accepts, inCell(schema.description), processes].filter(
    (cell) => cell !== undefined,
  );
}

/** Settings that a deployment derives or that tell processes where they are; an operator does not set them for `npm start`. */
const isPlanned = (name, entry) =>
  ['HOST', 'OPS_PORT', 'GRPC_PORT', 'GATEWAY_URL', 'DATABASE_OWNER_URL', 'SERVICE_KEYS', 'SERVICE_SECRET', ...entry.secrets].includes(
    name,
  ) || catalogue.some((service) => name === `${service.name.toUpperCase().replaceAll('-', '_')}_ADDRESS`);

function settings() {
  const missing = catalogue.filter(({ name }) => !(name in schemas));
  if (missing.length > 0) throw new Error(`scripts/docs/reference.mjs does not know the settings of ${missing.map(({ name }) => name)}`);
  const known = new Map();
  for (const entry of catalogue)
    for (const [name, schema] of Object.entries(schemas[entry.name].shape)) {
      const setting = known.get(name) ?? { schema, processes: [], planned: isPlanned(name, entry) };
      known.set(name, { ...setting, processes: [...setting.processes, entry.name] });
    }
  const processesText = (names) => (names.length === catalogue.length ? 'all' : names.join(', '));
  const rowsOf = (isWanted) =>
    [...known]
      .filter(([name, { planned }]) => isWanted(name, planned))
      .map(([name, { schema, processes }]) => settingRow(name, schema, processesText(processes)));
  const own = Object.entries(localSettings.shape);
  const ownNames = new Set(own.map(([name]) => name));
  const head = ['Setting', 'Default', 'Values', 'Meaning'];
  return `# Settings

${isGenerated}

Every setting is an environment variable with a default that works. It is checked before anything starts, and a message names each one that is wrong. \`npm start\` gives each process the
settings that it knows and nothing else of your environment; a key that \`api_key_env\` of a [models file](../guides/models-and-prices.md) names reaches the answer worker only.

## Of the local system

\`npm start\`, \`npm run reset\` and the command line read these themselves.

${table(
  head,
  own.map(([name, schema]) => settingRow(name, schema)),
)}

## Of the processes

Set these for \`npm start\`, in \`docker-compose.yml\` or in \`settings\` of the Helm chart.

${table(
  [...head, 'Processes'],
  rowsOf((name, planned) => !planned && !ownNames.has(name)),
)}

## Of a deployment

\`npm start\`, Docker Compose and the Helm chart make or derive these. Set them where you install processes by yourself.

${table(
  [...head, 'Processes'],
  rowsOf((name, planned) => planned || name === 'DATABASE_URL' || name === 'REDIS_URL'),
)}
`;
}

const errorRows = () =>
  table(
    ['Code', 'Status', 'Type', 'Message'],
    Object.entries(publicErrorCodes).map(([code, { http, type, message }]) => [`\`${code}\``, http, `\`${type}\``, message]),
  );

function events() {
  const rows = Object.entries(eventDescriptions).map(([type, { meaning, data }]) => [
    `\`${type}\``,
    meaning,
    ['organization_id', ...data].map((field) => `\`${field}\``).join(', '),
  ]);
  return `# Events

${isGenerated}

A delivery is a POST with the JSON body \`{ "id", "type", "created_at", "data" }\`. Webhooks subscribe to the types below; a test delivery has the type \`webhook.test\`.
How to receive and verify them: [webhook receivers](../guides/webhook-receivers.md).

${table(['Type', 'When', '`data`'], rows)}
`;
}

function optionLines(command) {
  return command.options
    .filter(({ long }) => long !== '--json')
    .map((option) => [`\`${option.flags}\``, option.mandatory ? 'yes' : '', inCell(optionText(option))]);
}

function optionText({ description, argChoices }) {
  const choices = argChoices ? argChoices.map((choice) => `\`${choice}\``).join(', ') : '';
  return [description, choices].filter(Boolean).join(': ');
}

function commands() {
  const program = buildProgram({}, () => {
    throw new Error('the help needs no connection');
  });
  const sections = program.commands.flatMap((noun) => [
    `## ${noun.name()}\n\n${noun.description()}.`,
    ...noun.commands.map((verb) => {
      const rows = optionLines(verb);
      const options = rows.length === 0 ? [] : [table(['Option', 'Required', 'Meaning'], rows)];
      return [`### ${noun.name()} ${verb.name()}`, `${sentence(verb.description())}`, ...options].join('\n\n');
    }),
  ]);
  return `# Command line

${isGenerated}

\`npm run --silent admin -- NOUN VERB\` works on the running local system, or on any other with \`IDENTITY_ADDRESS\`, \`CREDITS_ADDRESS\`, \`AGENTS_ADDRESS\`, \`WEBHOOKS_ADDRESS\` where webhooks are enabled, and \`SERVICE_SECRET\` (or the
\`SERVICE_KEYS\` of \`operator\`) set; in an image it is the command \`admin\`. \`--json\` prints one JSON object. A failure ends with code 1 and its reason; \`verify\` commands end with 2 if they find
a fault.

${sections.join('\n\n')}
`;
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

/** The seed of the tables of docs/scale.md. */
const scaleSeed = 1;

/** Replaces the part between the two comments of this name. */
function replacePart(text, name, content) {
  const [begin, end] = [`<!-- ${name}: written by \`npm run docs:generate\` -->`, `<!-- end of ${name} -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the comments of the part "${name}" are missing`);
  return `${text.slice(0, from)}${begin}\n\n${content}\n\n${text.slice(to)}`;
}

const replaceParts = (text, parts) => Object.entries(parts).reduce((result, [name, content]) => replacePart(result, name, content), text);

/** Replaces each code block with `file=` behind its language by that file. */
const replaceFiles = (text) =>
  text.replaceAll(
    /^(```\w+ file=(\S+)(?: as=\S+)?\n)[\s\S]*?^```$/gm,
    (_whole, begin, path) => `${begin}${readFileSync(path, 'utf8').trimEnd()}\n\`\`\``,
  );

/** The text of each generated file, by its path; a function gets the present text. */
export const generatedPages = {
  'docs/reference/settings.md': settings,
  'docs/reference/events.md': events,
  'docs/reference/cli.md': commands,
  'docs/errors.md': (present) => replaceParts(present, { codes: errorRows() }),
  'docs/scale.md': (present) =>
    replaceParts(present, { processors: processorsTable(), answers: answersTable(scaleSeed), shards: shardsTable(scaleSeed) }),
  'docs/guides/streaming.md': replaceFiles,
  'docs/guides/webhook-receivers.md': replaceFiles,
};
