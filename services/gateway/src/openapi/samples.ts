import { inspect } from 'node:util';

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly example?: unknown;
  readonly schema?: { readonly example?: unknown };
}

/** An operation with the example of its body. */
export interface SampledOperation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly parameters?: readonly Parameter[];
  readonly security?: readonly unknown[];
  readonly body?: { readonly type: string; readonly example: unknown };
}

interface Sample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

/** How to call the operation with curl and with our clients. Address and key are variables of the environment. */
export const codeSamples = (operation: SampledOperation): Sample[] => [
  { lang: 'Shell', label: 'curl', source: curl(operation) },
  { lang: 'TypeScript', label: 'TypeScript', source: typescript(operation) },
  { lang: 'Python', label: 'Python', source: python(operation) },
];

const isOpen = ({ security = [] }: SampledOperation) => security.length === 0;
const isForm = ({ body }: SampledOperation) => body !== undefined && body.type !== 'application/json';

/** The parameters of the path with their examples. */
function pathParameters({ parameters = [] }: SampledOperation): [string, string][] {
  return parameters
    .filter((one) => one.in === 'path')
    .map(({ name, example, schema }) => [name, String(example ?? schema?.example ?? name)]);
}

function curl(operation: SampledOperation): string {
  const { method, path, body } = operation;
  const url = pathParameters(operation).reduce((text, [name, value]) => text.replace(`{${name}}`, value), path);
  const form = isForm(operation) ? Object.entries(body?.example as Record<string, string>) : [];
  return [
    `curl -X ${method.toUpperCase()} "$AGENT_SERVICE_URL${url}"`,
    ...(isOpen(operation) ? [] : ['-H "Authorization: Bearer $AGENT_SERVICE_KEY"']),
    ...(body && form.length === 0 ? ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body.example))}`] : []),
    ...form.map(([name, value]) => `--data-urlencode ${quoted(`${name}=${value}`)}`),
    ...(operation.operationId === 'streamMessage' ? ['--no-buffer'] : []),
  ].join(' \\\n  ');
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

const literal = (value: unknown) =>
  inspect(value, { depth: null, compact: 2, breakLength: 90, maxArrayLength: null, maxStringLength: null });
const indented = (text: string, by: string) => text.replaceAll('\n', `\n${by}`);

function typescript(operation: SampledOperation): string {
  const { operationId, method, path, body } = operation;
  const [agentId] = pathParameters(operation).map(([, value]) => literal(value));
  const message = literal(body?.example);
  const program = (imports: string, ...lines: string[]) =>
    [
      `import { ${imports} } from '@agent-service/client';`,
      '',
      "const { AGENT_SERVICE_URL: baseUrl = '', AGENT_SERVICE_KEY: key = '' } = process.env;",
      'const client = createClient({ baseUrl, auth: apiKey(key) });',
      ...lines,
    ].join('\n');
  if (operationId === 'sendMessage')
    return program(
      'apiKey, createClient, sendMessage',
      `const answer = await sendMessage(client, ${agentId}, ${message});`,
      'console.log(answer.content);',
    );
  if (operationId === 'streamMessage')
    return program(
      'apiKey, createClient, streamAnswer',
      'let printed = 0;',
      `for await (const event of streamAnswer(client, ${agentId}, ${message})) {`,
      '  process.stdout.write(event.content.slice(printed));',
      '  printed = event.content.length;',
      '}',
    );
  const ids = Object.fromEntries(pathParameters(operation));
  const options = {
    ...(Object.keys(ids).length > 0 && { path: ids }),
    ...(body && { [isForm(operation) ? 'form' : 'body']: body.example }),
  };
  const call = `${method}('${path}'${Object.keys(options).length > 0 ? `, ${literal(options)}` : ''})`;
  return program('apiKey, createClient', `const result = await client.${call};`, 'console.log(result);');
}

function python(operation: SampledOperation): string {
  const { operationId, path, body } = operation;
  // The client exchanges its credentials itself.
  if (body && isOpen(operation))
    return [
      'import os',
      '',
      'import httpx',
      '',
      `body = ${pythonLiteral(body.example)}`,
      `response = httpx.post(os.environ["AGENT_SERVICE_URL"] + "${path}", ${isForm(operation) ? 'data' : 'json'}=body)`,
      'response.raise_for_status()',
      'print(response.json())',
    ].join('\n');
  const values = pathParameters(operation).map(([, value]) => JSON.stringify(value));
  const parameters = [...values, ...(body ? [pythonLiteral(body.example)] : [])].join(', ');
  const name = operationId.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const lines =
    operationId === 'streamMessage'
      ? [
          'printed = 0',
          `for event in service.stream_answer(${parameters}):`,
          '    print(event.content[printed:], end="")',
          '    printed = len(event.content)',
        ]
      : [`result = service.${name}(${parameters})`, 'print(result)'];
  return [
    'import os',
    '',
    'from agent_service import AgentService',
    '',
    'with AgentService(os.environ["AGENT_SERVICE_URL"], api_key=os.environ["AGENT_SERVICE_KEY"]) as service:',
    ...lines.map((line) => `    ${indented(line, '    ')}`),
  ].join('\n');
}

/** A JSON value as Python writes it. */
function pythonLiteral(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const fields = Object.entries(value as object).map(
    ([name, field]) => `    ${JSON.stringify(name)}: ${indented(pythonLiteral(field), '    ')},`,
  );
  return fields.length === 0 ? '{}' : `{\n${fields.join('\n')}\n}`;
}
