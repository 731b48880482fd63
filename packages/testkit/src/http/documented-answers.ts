// Answers that a test gets are compared with an OpenAPI document.
import Ajv, { type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { type ReceivedResponse, type SentRequest, send } from './send.ts';

interface Media {
  readonly schema?: object;
  readonly 'x-itemSchema'?: { readonly oneOf: readonly { readonly properties: { readonly event: { readonly const: string } } }[] };
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value?: unknown; readonly $ref?: string }>>;
}

interface Operation {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>;
}

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly examples: Readonly<Record<string, { readonly value: unknown }>> };
}

interface CheckedAnswer {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly contentType: string | undefined;
  readonly text: string;
}

export interface DocumentedAnswers {
  /** Throws where the document describes this operation and not this answer. */
  check(answer: CheckedAnswer): void;
  /** Sends a request whose answer has to be one that the document describes. */
  send(baseUrl: string, sent: SentRequest): Promise<ReceivedResponse>;
  /** The faults of a value under the schema at this path of the document. */
  faultsAt(path: readonly string[], value: unknown): string | undefined;
}

/** The document that a running gateway serves. */
export async function servedAnswers(baseUrl: string): Promise<DocumentedAnswers> {
  const response = await fetch(`${baseUrl}/openapi.json`);
  if (!response.ok) throw new Error(`/openapi.json answered ${response.status}`);
  return documentedAnswers((await response.json()) as OpenApi);
}

export function documentedAnswers(document: OpenApi): DocumentedAnswers {
  const ajv = new Ajv.default({ strict: false, allErrors: true, validateSchema: false, code: { optimize: false } });
  addFormats.default(ajv);
  ajv.addSchema(closeObjects(document), 'document');
  const validators = new Map<string, ValidateFunction>();
  const faultsAt: DocumentedAnswers['faultsAt'] = (path, value) => {
    const pointer = path.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
    const validate = validators.get(pointer) ?? ajv.compile({ $ref: `document#/${pointer}` });
    validators.set(pointer, validate);
    return validate(value) ? undefined : ajv.errorsText(validate.errors);
  };
  const patterns = Object.keys(document.paths).map((path) => ({
    path,
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    // A path without parameters is preferred: /messages/stream is no message.
    parameters: path.split('{').length,
  }));
  patterns.sort((a, b) => a.parameters - b.parameters);
  const check: DocumentedAnswers['check'] = (answer) => {
    const { method, path, status, text } = answer;
    const pathname = path.split('?')[0] ?? '';
    const known = patterns.find(({ pattern }) => pattern.test(pathname))?.path;
    const operation = known === undefined ? undefined : document.paths[known]?.[method.toLowerCase()];
    if (known === undefined || !operation) return;
    const fault =
      faultOf(answer, operation, ['paths', known, method.toLowerCase(), 'responses', String(status)], faultsAt) ??
      faultInCode(answer, operation, document);
    if (fault === undefined) return;
    throw new Error(`The OpenAPI document does not describe this answer to ${method} ${path}: ${status} ${text.slice(0, 500)}\n${fault}`);
  };
  return {
    faultsAt,
    check,
    async send(baseUrl, sent) {
      const answer = await send(baseUrl, sent);
      const { status, headers, text } = answer;
      check({ ...sent, status, contentType: headers['content-type'], text });
      return answer;
    },
  };
}

/** Clients accept fields that later versions add; a service sends none that its own document does not have. */
function closeObjects<Part>(part: Part): Part {
  if (Array.isArray(part)) return part.map(closeObjects) as Part;
  if (typeof part !== 'object' || part === null) return part;
  const closed = Object.fromEntries(Object.entries(part).map(([name, inner]) => [name, closeObjects(inner)])) as Part;
  const { type, properties } = closed as { type?: unknown; properties?: unknown };
  return type === 'object' && typeof properties === 'object' ? { additionalProperties: false, ...closed } : closed;
}

type FaultsAt = DocumentedAnswers['faultsAt'];

function faultOf(
  { status, contentType, text }: CheckedAnswer,
  { responses }: Operation,
  path: readonly string[],
  faultsAt: FaultsAt,
): string | undefined {
  const response = responses[status];
  if (!response) return `It has the statuses ${Object.keys(responses).join(', ')}.`;
  if (text === '') return response.content ? 'It has a body.' : undefined;
  const type = contentType?.split(';')[0]?.trim() ?? '';
  const media = response.content?.[type];
  if (!media) return `It has the types ${Object.keys(response.content ?? {}).join(', ')}.`;
  if (type === 'text/event-stream') return faultInEvents(text, media, [...path, 'content', type], faultsAt);
  return type === 'application/json' ? faultsAt([...path, 'content', type, 'schema'], JSON.parse(text)) : undefined;
}

/** An error has one of the codes that the examples of its status have. */
function faultInCode({ status, text }: CheckedAnswer, { responses }: Operation, { components }: OpenApi): string | undefined {
  const examples = Object.values(responses[status]?.content?.['application/json']?.examples ?? {});
  if (examples.length === 0) return undefined;
  const codes = examples.map(({ value, $ref }) => codeOf($ref ? components.examples[$ref.split('/').at(-1) ?? '']?.value : value));
  return codes.includes(codeOf(JSON.parse(text))) ? undefined : `It has the codes ${codes.join(', ')}.`;
}

/** The code in an error, or in the flat form of RFC 6749. */
function codeOf(body: unknown): string | undefined {
  const { error } = body as { error?: string | { code?: string } };
  return typeof error === 'object' ? error.code : error;
}

/** The first event that is not one of those which the document describes. The last may be cut, where a client leaves. */
function faultInEvents(text: string, media: Media, path: readonly string[], faultsAt: FaultsAt): string | undefined {
  for (const block of text.split('\n\n').slice(0, -1)) {
    const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s)));
    if (fields.event === undefined) continue;
    const kind = media['x-itemSchema']?.oneOf.findIndex(({ properties }) => properties.event.const === fields.event) ?? -1;
    if (kind === -1) return `It has the event ${fields.event}.`;
    const item = [...path, 'x-itemSchema', 'oneOf', String(kind)];
    const { '': _comment, ...event } = fields;
    const fault = faultsAt(item, event) ?? faultsAt([...item, 'properties', 'data', 'contentSchema'], JSON.parse(String(event['data'])));
    if (fault !== undefined) return `${block.slice(0, 500)}\n${fault}`;
  }
  return undefined;
}
