// Five behaviours, each with the functions where it enters a process of ours.
import { SyntaxKind } from './project.mjs';

const declared = (folder, name) => ({ folder, name });
/** The handler of a queue's worker. */
const worker = (folder, queue) => ({ folder, queue });

/** The code that calls a method of another service. */
const caller = (folder, client, method) => ({ folder, client, method });

export const behaviours = {
  'accept a message': [
    declared('services/gateway/src/routes', 'sendMessage'),
    declared('services/agents/src', 'startAnswer'),
    declared('services/credits/src/rpc', 'hold'),
  ],
  'settle an answer': [
    declared('services/agents/src', 'completeAnswer'),
    caller('services/agents/src', 'credits', 'settle'),
    declared('services/credits/src/rpc', 'settle'),
  ],
  'activate a template': [
    declared('services/gateway/src/routes', 'activateTemplate'),
    declared('services/templates/src/rpc', 'activateTemplate'),
    declared('services/agents/src', 'activateTemplateAgent'),
  ],
  'retry a webhook': [
    worker('services/webhook-dispatcher/src', 'deliveries'),
    declared('services/webhooks/src/rpc', 'beginDelivery'),
    declared('services/webhooks/src/rpc', 'endDelivery'),
  ],
  'revoke a key': [declared('services/gateway/src/routes', 'revokeKey'), declared('services/identity/src/rpc', 'revokeKey')],
};

/** The declaration that an entry names. */
export function findEntry({ files }, entry) {
  for (const [path, file] of files) {
    if (!path.startsWith(`${entry.folder}/`)) continue;
    const entryNode = finders[entry.queue ? 'queue' : entry.client ? 'client' : 'name'](file, entry);
    if (entryNode) return entryNode;
  }
  throw new Error(`No ${JSON.stringify(entry)} in the sources: did its name change? scripts/structure/behaviours.mjs names it.`);
}

const finders = { name: findDeclaration, queue: findHandler, client: findCaller };

function findDeclaration(file, { name }) {
  for (const statement of file.statements) {
    if (statement.kind === SyntaxKind.FunctionDeclaration && statement.name?.text === name) return statement;
    const declaration = statement.declarationList?.declarations.find((candidate) => candidate.name.text === name);
    if (declaration) return declaration;
  }
  return undefined;
}

function findHandler(file, { queue }) {
  const call = findNode(
    file,
    ({ kind, expression, arguments: passed }) =>
      kind === SyntaxKind.CallExpression && expression.text === 'startWorker' && passed.some((argument) => argument.text === queue),
  );
  return call?.arguments.at(-1).properties?.find(({ name }) => name?.text === 'handle');
}

/** The statement of the file that holds the call `client.method(…)`. */
function findCaller(file, { client, method }) {
  const isCalled = ({ kind, name, expression }) =>
    kind === SyntaxKind.PropertyAccessExpression && name.text === method && (expression.text ?? expression.name?.text) === client;
  return file.statements.find((statement) => findNode(statement, isCalled) !== undefined);
}

function findNode(node, matches) {
  if (matches(node)) return node;
  let match;
  node.forEachChild((child) => void (match ??= findNode(child, matches)));
  return match;
}
