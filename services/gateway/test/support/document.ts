// Every answer that the suites of this service get is compared with the OpenAPI document.
import Ajv, { type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { createOpenApi } from '../../src/openapi/document.ts';
import { everyRoute } from '../../src/routes/index.ts';

interface Media {
  readonly schema?: object;
  readonly 'x-itemSchema'?: { readonly oneOf: readonly { readonly properties: { readonly event: { readonly const: string } } }[] };
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value?: unknown; readonly $ref?: string }>>;
}

interface Response {
  readonly content?: Readonly<Record<string, Media>>;
}

export interface Operation {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, Response>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly examples: Readonly<Record<string, { readonly value: unknown }>> };
}

export const document = JSON.parse(JSON.stringify(createOpenApi(everyRoute, '/'))) as Document;

const ajv = new Ajv.default({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema(document, 'document');
const validators = new Map<string, ValidateFunction>();

/** The faults of a value under the schema at this path of the document. */
export function faultsAt(path: readonly string[], value: unknown): string | undefined {
  const pointer = path.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `document#/${pointer}` });
  validators.set(pointer, validate);
  return validate(value) ? undefined : ajv.errorsText(validate.errors);
}

const patterns = Object.keys(document.paths).map((path) => ({
  path,
  pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  // A path without parameters is preferred: /messages/stream is no message.
  parameters: path.split('{').length,
}));
patterns.sort((a, b) => a.parameters - b.parameters);

export interface CheckedAnswer {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly contentType: string | null | undefined;
  readonly text: string;
}

/** Throws where the document describes this operation and not this answer. */
export function checkAnswer(answer: CheckedAnswer): void {
  const { method, path, text, status } = answer;
  const pathname = path.split('?')[0] ?? '';
  const known = patterns.find(({ pattern }) => pattern.test(pathname))?.path;
  const operation = known === undefined ? undefined : document.paths[known]?.[method.toLowerCase()];
  if (known === undefined || !operation) return;
  const fault = faultOf(answer, operation, ['paths', known, method.toLowerCase(), 'responses', String(status)]);
  if (fault === undefined) return;
  throw new Error(`The OpenAPI document does not describe this answer to ${method} ${path}: ${status} ${text.slice(0, 500)}\n${fault}`);
}

function faultOf({ status, contentType, text }: CheckedAnswer, { responses }: Operation, path: readonly string[]): string | undefined {
  const response = responses[status];
  if (!response) return `It has the statuses ${Object.keys(responses).join(', ')}.`;
  if (text === '') return response.content ? 'It has a body.' : undefined;
  const type = contentType?.split(';')[0]?.trim() ?? '';
  const media = response.content?.[type];
  if (!media) return `It has the types ${Object.keys(response.content ?? {}).join(', ')}.`;
  if (type === 'text/event-stream') return faultInEvents(text, media, [...path, 'content', type]);
  return type === 'application/json' ? faultsAt([...path, 'content', type, 'schema'], JSON.parse(text)) : undefined;
}

/** The first event that is not one of those which the document describes. The last may be cut, where a client leaves. */
function faultInEvents(text: string, media: Media, path: readonly string[]): string | undefined {
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
