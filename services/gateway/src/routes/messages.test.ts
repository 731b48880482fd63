import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { prefersAsync, wantsEvents } from './messages.ts';

describe('Accept asks for a stream', () => {
  test.each([
    ['text/event-stream', true],
    ['TEXT/Event-Stream', true],
    ['text/event-stream, */*', true],
    ['text/event-stream;q=0.9, application/json;q=0.5', true],
    ['text/event-stream; q=0.5', true],
    ['text/event-stream, application/json', false],
    ['application/json, text/event-stream;q=0.9', false],
    ['application/json;q=0.1, text/event-stream;q=0', false],
    ['text/event-stream;q=0', false],
    ['text/event-stream;q=0.3, */*', false],
    ['text/event-stream;q=2', false],
    ['*/*', false],
    ['text/*', false],
    ['application/json', false],
    ['', false],
    [',;,=,', false],
    [undefined, false],
  ])('%j: %p', (accept, expected) => expect(wantsEvents(accept)).toBe(expected));

  test('every value of the header is read without an error', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(typeof wantsEvents(`${text}text/event-stream`)).toBe('boolean');
        expect(typeof prefersAsync(text)).toBe('boolean');
      }),
    );
  });
});

test.each([
  ['respond-async', true],
  ['Respond-Async', true],
  ['wait=10, respond-async', true],
  ['respond-async; x=1', true],
  ['return=minimal', false],
  ['respond-asynchronously', false],
  [undefined, false],
])('Prefer: %j: %p', (prefer, expected) => expect(prefersAsync(prefer)).toBe(expected));
