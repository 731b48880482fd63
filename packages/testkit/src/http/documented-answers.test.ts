import { expect, test } from '@jest/globals';
import { documentedAnswers } from './documented-answers.ts';

const named = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const event = {
  type: 'object',
  properties: {
    event: { const: 'delta' },
    data: { type: 'string', contentSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } },
  },
  required: ['event', 'data'],
};
const answers = documentedAnswers({
  paths: {
    '/v1/things/{id}': {
      get: {
        operationId: 'getThing',
        responses: {
          200: {
            content: { 'application/json': { schema: named }, 'text/event-stream': { 'x-itemSchema': { oneOf: [event] } as never } },
          },
          204: {},
          409: {
            content: {
              'application/json': {
                schema: {},
                examples: { busy: { $ref: '#/components/examples/busy' }, flat: { value: { error: 'flat' } } },
              },
            },
          },
        },
      },
    },
  },
  components: { examples: { busy: { value: { error: { code: 'busy' } } }, other: { value: { error: { code: 'other' } } } } },
});

const check = (status: number, contentType: string, text: string, path = '/v1/things/a?x=1') =>
  answers.check({ method: 'GET', path, status, contentType, text });
const stream = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

test('answers that the document describes pass, and so do those of operations that it does not have', () => {
  check(200, 'application/json; charset=utf-8', '{"name":"a"}');
  check(204, '', '');
  check(409, 'application/json', '{"error":{"code":"busy"}}');
  check(409, 'application/json', '{"error":"flat"}');
  check(200, 'text/event-stream', `: comment\n\n${stream('delta', { text: 'a' })}event: cut`);
  check(500, 'text/html', '<h1>', '/v1/others');
});

test.each([
  ['another status', () => check(201, 'application/json', '{"name":"a"}'), 'the statuses 200, 204, 409'],
  ['another code', () => check(409, 'application/json', '{"error":{"code":"other"}}'), 'the codes busy, flat'],
  ['another type', () => check(200, 'text/html', '<h1>'), 'the types application/json, text/event-stream'],
  ['no body', () => check(200, 'application/json', ''), 'It has a body'],
  ['a field too few', () => check(200, 'application/json', '{}'), "required property 'name'"],
  ['a field too many', () => check(200, 'application/json', '{"name":"a","x":1}'), 'additional properties'],
  ['another event', () => check(200, 'text/event-stream', stream('other', {})), 'the event other'],
  ['an event with other data', () => check(200, 'text/event-stream', stream('delta', { text: 1 })), 'text must be string'],
])('%s does not', (_name, work, reason) => {
  expect(work).toThrow(reason);
});
