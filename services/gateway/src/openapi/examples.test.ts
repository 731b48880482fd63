// Each example of the document is one state that the service can have: tests against a mock pass with it, and have to pass with the service as well.
import { describe, expect, test } from '@jest/globals';
import { parseEventId } from '../answers/answer-stream.ts';
import { everyRoute } from '../routes/index.ts';
import { isPlainObject } from '../routing/input.ts';
import { createOpenApi } from './document.ts';

type Fields = Record<string, unknown>;
type Content = Record<string, { example?: unknown; examples?: Record<string, { value?: unknown }> }>;
interface Operation {
  operationId: string;
  requestBody?: { content: Content };
  responses: Record<string, { content?: Content }>;
}

const document = JSON.parse(JSON.stringify(createOpenApi(everyRoute, '/')));
const operations = Object.values(document.paths as Record<string, Record<string, Operation>>).flatMap((item) => Object.values(item));

/** The example of each JSON body of a success, with that of its request. */
const bodies = operations.flatMap(({ operationId, requestBody, responses }) => {
  const [request] = Object.values(requestBody?.content ?? {});
  return Object.entries(responses).flatMap(([status, { content = {} }]) => {
    const body = content['application/json']?.example;
    return status.startsWith('2') && isPlainObject(body)
      ? [{ name: `${operationId} ${status}`, body, request: (request?.example ?? {}) as Fields }]
      : [];
  });
});

/** Every object of an example. */
const objectsIn = (value: unknown): Fields[] =>
  typeof value !== 'object' || value === null
    ? []
    : [...(isPlainObject(value) ? [value] : []), ...Object.values(value).flatMap((inner) => objectsIn(inner))];

const prefixes: Readonly<Record<string, string>> = {
  agent_id: 'agt_',
  conversation_id: 'conv_',
  created_by: 'usr_',
  event_id: 'evt_',
  key_id: 'key_',
  message_id: 'msg_',
  organization_id: 'org_',
  redelivery_of: 'dlv_',
  template_id: 'tpl_',
  user_id: 'usr_',
};

const time = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/;
const timesOf = (fields: Fields) => Object.entries(fields).filter(([, value]) => time.test(String(value))) as [string, string][];
const isSet = (value: unknown) => value !== null && value !== undefined;

/** These hold for every object that has the fields in question, wherever it is. */
const rules: Readonly<Record<string, (fields: Fields) => boolean>> = {
  'ids have the prefix of their kind': (fields) =>
    Object.entries(prefixes).every(([name, prefix]) => !isSet(fields[name]) || String(fields[name]).startsWith(prefix)),
  'nothing happens before the object is created': ({ created_at: created, ...others }) =>
    !isSet(created) || timesOf(others).every(([, at]) => at >= String(created)),
  'an active agent that no template made was changed after its creation, since it begins as a draft': ({ id, status, ...agent }) =>
    !String(id).startsWith('agt_') ||
    status !== 'active' ||
    isSet(agent['source_template_id']) ||
    !isSet(agent['created_at']) ||
    String(agent['updated_at']) > String(agent['created_at']),
  'a message has an error unless it completed, and a cost and queries only if it did': ({ status, content, error, ...message }) => {
    if (message['role'] !== 'assistant') return message['role'] !== 'user' || message['credits_consumed'] === 0;
    if (status === 'completed') return content !== '' && error === undefined;
    return message['credits_consumed'] === 0 && message['queries'] === undefined && (content === '') === (status === 'queued');
  },
  'a result has its columns in each row, and its rows': ({ columns, rows, row_count: count, truncated }) =>
    !Array.isArray(columns) ||
    !Array.isArray(rows) ||
    (rows.every((row) => (row as unknown[]).length === columns.length) && (truncated === true || rows.length === count)),
  'a webhook is failing since some time, or healthy': ({ status, failing_since: since }) =>
    since === undefined || isSet(since) === (status !== 'healthy'),
  'a delivery has a next attempt, or an end': ({ status, next_attempt_at: next, ended_at: end, attempts }) =>
    next === undefined ||
    (isSet(next) === (status === 'pending') &&
      isSet(end) !== isSet(next) &&
      (status !== 'delivered' || (attempts as unknown[]).length > 0)),
  'a delivery does not repeat itself': ({ id, redelivery_of: repeated }) => repeated === undefined || repeated !== id,
  'a credential has an end once it is ended': ({ status, ends_at: end }) =>
    end === undefined || status === undefined || isSet(end) === (status === 'ended'),
  'a key is not replaced by itself': ({ id, previous }) => !isPlainObject(previous) || previous['id'] !== id,
  'only a deactivation ends credentials': ({ status, ended_credentials: ended }) => ended === undefined || status === 'deactivated',
  'a balance is the sum of its parts': ({ balance, allocated, unallocated }) =>
    unallocated === undefined || Number(allocated) + Number(unallocated) === balance,
  'a user has what is left of the limit': ({ balance, monthly_limit: limit, used_this_month: used }) =>
    used === undefined || balance === undefined || Number(balance) + Number(used) === limit,
  'the usage of all models and agents is the total': ({ model_distribution: models, most_used_agents: agents, ...total }) => {
    const totals = [total['total_credits_used'], total['total_queries']];
    const sumOf = (parts: readonly Fields[], ...names: string[]) =>
      names.map((name) => parts.reduce((sum, part) => sum + Number(part[name]), 0));
    return (
      models === undefined ||
      (String(sumOf(Object.values(models as Fields) as Fields[], 'credits', 'queries')) === String(totals) &&
        String(sumOf(agents as Fields[], 'credits_used', 'query_count')) === String(totals))
    );
  },
  'a template has the newest version of its changelog, and its times': ({
    changelog,
    version,
    created_at: created,
    updated_at: updated,
  }) => {
    if (!Array.isArray(changelog)) return true;
    const midnight = (change: Fields) => `${change['date']}T00:00:00.000Z`;
    return changelog[0].version === version && midnight(changelog[0]) === updated && midnight(changelog.at(-1)) === created;
  },
  'an audit entry tells of a change of another user': ({ actor, target }) =>
    !isPlainObject(actor) || !isPlainObject(target) || target['id'] !== actor['id'],
};

const dataOf = ({ data }: Fields) => data as Fields;

/** The example of a body, by its operation and status, and what it has beyond the rules. */
const expected: Readonly<Record<string, (example: { body: Fields; request: Fields }) => [actual: unknown, wanted: object]>> = {
  'createAgent 201': ({ body }) => [body['data'], { status: 'draft' }],
  'createKey 201': ({ body }) => [body['data'], { last_used_at: null }],
  'createOauthApplication 201': ({ body }) => [body['data'], { last_used_at: null, previous_secret_ends_at: null }],
  'rotateKey 200': ({ body }) => [body['data'], { last_used_at: null, replaced_by: null }],
  'rotateOauthSecret 200': ({ body }) => [body['data'], { previous_secret_ends_at: expect.stringMatching(time) }],
  'activateTemplate 201': ({ body, request }) => [
    [dataOf(body)['name'], dataOf(body)['status']],
    [request['name_override'], 'active'],
  ],
  'sendMessage 202': ({ body }) => [body['data'], { status: 'queued', content: '', credits_consumed: 0 }],
  'cancelAnswer 200': ({ body }) => [body['data'], { status: 'cancelled' }],
  'listMessages 200': ({ body }) => [body, { data: [{ role: 'assistant' }, { role: 'user' }], meta: { total: 2 } }],
  'listUsage 200': ({ body }) => [body['data'], [{ credits_consumed: expect.any(Number) }]],
  'testWebhook 200': ({ body }) => [body['data'], { event_type: 'webhook.test', status: 'pending', attempts: [], redelivery_of: null }],
  'redeliverWebhookDelivery 200': ({ body }) => [body['data'], { status: 'pending', attempts: [], redelivery_of: expect.any(String) }],
};

describe('each example of a success is a state that the service has', () => {
  test('the examples are collected', () => {
    expect(bodies.length).toBeGreaterThan(40);
    for (const name of Object.keys(expected)) expect(bodies.map((body) => body.name)).toContain(name);
  });

  test.each(Object.entries(rules))('%s', (_name, holds) => {
    expect(bodies.flatMap(({ name, body }) => objectsIn(body).flatMap((fields) => (holds(fields) ? [] : [{ name, fields }])))).toEqual([]);
  });

  test.each(Object.entries(expected))('%s', (operation, check) => {
    for (const example of bodies.filter(({ name }) => name === operation)) {
      const [actual, wanted] = check(example);
      expect(actual).toMatchObject(wanted);
    }
  });

  test('a page without a next one has all entries', () => {
    const pages = bodies.filter(({ body }) => Array.isArray(body['data']));
    expect(pages.length).toBeGreaterThan(5);
    for (const { name, body } of pages) {
      const { total, next_cursor: next } = body['meta'] as Fields;
      expect({ name, total, next }).toEqual({ name, total: (body['data'] as unknown[]).length, next: null });
    }
  });

  test('what the request sets has the same value in its reply', () => {
    for (const { name, body, request } of bodies) {
      const reply = isPlainObject(body['data']) ? body['data'] : body;
      const common = Object.keys(request).filter((field) => field in reply);
      const valuesOf = (fields: Fields) => common.map((field) => [field, fields[field]]);
      expect({ name, values: valuesOf(reply) }).toEqual({ name, values: valuesOf(request) });
    }
  });

  test.each(['sendMessage', 'streamMessage'])('the stream of %s ends with the whole message', (operationId) => {
    const { responses } = operations.find((operation) => operation.operationId === operationId) as Operation;
    const events = String(responses['200']?.content?.['text/event-stream']?.example)
      .trim()
      .split('\n\n')
      .map((event) => new Map(event.split('\n').map((line) => line.split(/: (.*)/s) as [string, string])));
    expect(events.map((event) => event.get('event'))).toEqual(['started', 'delta', 'delta', 'completed']);
    const [, first, second, last] = events.map((event) => JSON.parse(event.get('data') ?? ''));
    expect(first.text + second.text).toBe(last.content);
    expect(last.status).toBe('completed');
    const lengths = events.map((event) => parseEventId(event.get('id') ?? '')?.length);
    const withIds = [0, first.text.length, last.content.length, last.content.length];
    expect(lengths).toEqual(operationId === 'streamMessage' ? withIds : withIds.map(() => undefined));
  });
});

test('errors that refer to their details have some', () => {
  const errors = document.components.examples as Record<string, { value: { error: { message: string; details: object } } }>;
  const references = Object.values(errors).filter(({ value }) => value.error.message.includes('See details'));
  expect(references.length).toBeGreaterThan(4);
  expect(references.filter(({ value }) => Object.keys(value.error.details).length === 0)).toEqual([]);
});

test('an error of the token endpoint asks for a form', () => {
  const { responses } = operations.find(({ operationId }) => operationId === 'issueOauthToken') as Operation;
  expect(responses['415']?.content?.['application/json']?.examples?.['unsupported_media_type']?.value).toMatchObject({
    error_description: 'Send the body with Content-Type: application/x-www-form-urlencoded.',
  });
});
