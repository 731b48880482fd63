import { type PublicErrorCode, publicErrorCodes, ServiceError } from '@agent-service/contracts';
import { plainText } from '@agent-service/contracts/text';
import { errorBody, oauthErrorBody } from '@agent-service/http/replies/error-reply';
import { contentTypes } from '@agent-service/http/requests/body';
import { z } from 'zod';
import { isPlainObject } from '../routing/input.ts';
import { answerEventData } from '../schemas/conversation.ts';
import { describeResponseSchema } from './body-schemas.ts';
import { codeSamples, type SampledOperation } from './samples.ts';

/** The parts of a JSON schema from which an example follows. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly example?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly minimum?: number;
}

interface Media {
  schema?: Schema;
  example?: unknown;
  examples?: Record<string, unknown>;
  /** The `itemSchema` of OpenAPI 3.2: one event of a stream. */
  'x-itemSchema'?: Schema;
}

interface Response {
  readonly content?: Record<string, Media>;
}

interface Operation extends Omit<SampledOperation, 'body' | 'method' | 'path'> {
  readonly requestBody?: { readonly content: Record<string, Media> };
  readonly responses: Record<string, Response>;
}

/** The part of a document that is completed. Every object in it belongs to the document alone. */
interface Document {
  readonly paths?: unknown;
  readonly components?: unknown;
}

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const;
const json = 'application/json';
const eventStream = 'text/event-stream';

/** Gives every body of the document a name and an example, every error an example for each of its codes, and every operation code samples. */
export function completeDocument(document: Document, codesOf: ReadonlyMap<string, readonly PublicErrorCode[]>): void {
  const components = document.components as { schemas: Record<string, Schema>; examples?: Record<string, unknown> };
  for (const [path, item] of Object.entries(document.paths as Record<string, Record<string, Operation>>))
    for (const method of methods) {
      const operation = item[method];
      if (!operation) continue;
      nameBodies(operation, components.schemas);
      describeIds(operation);
      addExamples(operation, components.schemas, codesOf.get(operation.operationId) ?? []);
      const [type, media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
      Object.assign(operation, {
        'x-codeSamples': codeSamples({
          ...operation,
          method,
          path,
          ...(media && { body: { type: type ?? json, example: media.example } }),
        }),
      });
    }
  const text = JSON.stringify(document.paths);
  const used = [...new Set([...codesOf.values()].flat())].filter((code) => text.includes(`"${referenceTo(code)}"`));
  components.examples = Object.fromEntries(
    used.map((code) => [code, { summary: publicErrorCodes[code].message, value: exampleOfError(code) }]),
  );
}

const referenceTo = (code: PublicErrorCode) => `#/components/examples/${code}`;

/** Ids are opaque, and no more than text that the service can look up. */
function describeIds({ parameters = [] }: Operation): void {
  for (const parameter of parameters) if (parameter.in === 'path') Object.assign(parameter.schema ?? {}, { pattern: plainText });
}

const isSuccess = (status: string) => status.startsWith('2');

/** A body that several successes share has one name. */
function nameBodies({ operationId, requestBody, responses }: Operation, schemas: Record<string, Schema>): void {
  const name = `${operationId[0]?.toUpperCase()}${operationId.slice(1)}`;
  const bodies = [
    ...Object.values(requestBody?.content ?? {}).map((media) => ({ name: `${name}Request`, media })),
    ...Object.entries(responses)
      .filter(([status]) => isSuccess(status))
      .flatMap(([, { content = {} }]) => (content[json] ? [{ name: `${name}Response`, media: content[json] }] : [])),
  ];
  for (const { name, media } of bodies) {
    if (!media.schema || media.schema.$ref) continue;
    const known = schemas[name];
    if (known && JSON.stringify(known) !== JSON.stringify(media.schema))
      throw new Error(`two bodies of ${operationId} would be called ${name}`);
    schemas[name] = media.schema;
    media.schema = { $ref: `#/components/schemas/${name}` };
  }
}

function addExamples({ responses, requestBody }: Operation, schemas: Record<string, Schema>, codes: readonly PublicErrorCode[]): void {
  const isForm = requestBody !== undefined && !(json in requestBody.content);
  for (const [status, { content = {} }] of Object.entries(responses))
    for (const [type, media] of Object.entries(content)) {
      if (type === eventStream) media['x-itemSchema'] = eventSchema;
      if (isSuccess(status)) media.example = changeParts(composeExample(media.schema ?? {}, schemas), media.example);
      else if (type === json) {
        const ofStatus = codes.filter((code) => publicErrorCodes[code].http === Number(status));
        media.examples = Object.fromEntries(
          ofStatus.map((code) => [code, isForm ? { value: exampleOfFormError(code) } : { $ref: referenceTo(code) }]),
        );
      }
    }
}

/** One event of an answer, as a parser of server-sent events returns it. */
const eventSchema: Schema = {
  oneOf: Object.entries(answerEventData).map(([event, data]) => ({
    type: 'object',
    properties: {
      event: { const: event },
      id: { type: 'string', description: 'Only of `messages/stream`: the position to continue from.' },
      data: { type: 'string', contentMediaType: json, contentSchema: schemaOf(data) },
    },
    required: ['event', 'data'],
  })),
};

/** Refers to a schema that has a name: it is one of the components. */
function schemaOf(schema: z.ZodType): Schema {
  const name = schema.meta()?.id;
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  const { $schema, ...own } = z.toJSONSchema(schema, { override: ({ jsonSchema }) => describeResponseSchema(jsonSchema) });
  return own as Schema;
}

const formExpected = `Send the body with Content-Type: ${contentTypes.form}.`;

const requestId = '4f3c1f6e-0a55-4c1e-8c53-0a5fbb1e4f0d';
const [agentId, messageId] = ['agt_01jz0000000000000000000000', 'msg_01jz0000000000000000000000'];

/** The parts of these errors that programs read. */
const parts: Partial<Record<PublicErrorCode, { param?: string; details?: Record<string, unknown> }>> = {
  invalid_request: { param: 'name' },
  invalid_cursor: { param: 'cursor' },
  insufficient_scope: { details: { required: ['agents:write'], granted: ['agents:read'] } },
  credits_exhausted: { details: { required: 4, available: 1 } },
  user_limit_reached: { details: { required: 4, available: 1, monthly_limit: 500, used_this_month: 499 } },
  answer_timeout: { details: { message_id: messageId, conversation_id: 'conv_01jz0000000000000000000000', status: 'running' } },
  template_already_activated: { details: { agent_id: agentId } },
  template_requirements_unmet: {
    details: { missing_tables: ['customers'], reasons: ['there is no table customers'] },
  },
  insufficient_unallocated_credits: { details: { required: 500, available: 100 } },
};

/** The error of the OAuth token endpoint, whose body is a form. */
const exampleOfFormError = (code: PublicErrorCode): unknown =>
  JSON.parse(oauthErrorBody(new ServiceError(code, code === 'unsupported_media_type' ? { message: formExpected } : {})));

const exampleOfError = (code: PublicErrorCode): unknown => JSON.parse(errorBody(new ServiceError(code, parts[code]), requestId));

const texts: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T10:00:00.000Z',
  date: '2026-01-31',
  email: 'ada@example.com',
  uri: 'https://example.com',
};

/** The example with the parts that an operation names itself: a schema alone does not tell which of its states a reply has. */
function changeParts(example: unknown, parts: unknown): unknown {
  if (parts === undefined) return example;
  if (!isPlainObject(example) || !isPlainObject(parts)) return parts;
  const changed = Object.entries(parts).map(([name, part]) => [name, part === undefined ? undefined : changeParts(example[name], part)]);
  return { ...example, ...Object.fromEntries(changed) };
}

/** A value of the schema, from the examples of its fields. */
function composeExample(schema: Schema, schemas: Readonly<Record<string, Schema>>): unknown {
  const compose = (part: Schema) => composeExample(part, schemas);
  if (schema.example !== undefined) return schema.example;
  if (schema.$ref) return compose(schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  const [first] = schema.anyOf ?? schema.oneOf ?? [];
  if (first) return compose(first);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map(compose));
  return composeOfType(schema, compose);
}

function composeOfType(schema: Schema, compose: (part: Schema) => unknown): unknown {
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.find((one) => one !== 'null');
  switch (type) {
    case 'object':
      return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, field]) => [name, compose(field)]));
    case 'array':
      return schema.items ? [compose(schema.items)] : [];
    case 'string':
      return texts[schema.format ?? ''] ?? 'text';
    case 'integer':
    case 'number':
      return schema.minimum ?? 1;
    case 'boolean':
      return true;
    default:
      return null;
  }
}
