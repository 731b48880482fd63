import { EventEmitter } from 'node:events';
import { expect, test } from '@jest/globals';
import { abortedWithClient, type Exchange } from './exchange.ts';

const exchange = (abandoned: boolean, writableEnded: boolean) => {
  const response = Object.assign(new EventEmitter(), { writableEnded }) as unknown as Exchange['response'];
  return { response, abandoned };
};

test('who leaves before the answer is known to have left, also when that was before anybody asked', () => {
  const leaving = exchange(false, false);
  const signal = abortedWithClient(leaving);
  expect(signal.aborted).toBe(false);
  leaving.response.emit('close');
  expect(signal.aborted).toBe(true);
  expect(abortedWithClient(exchange(true, false)).aborted).toBe(true);
});

test('who has the answer has not left', () => {
  const answered = exchange(false, true);
  const signal = abortedWithClient(answered);
  answered.response.emit('close');
  expect(signal.aborted).toBe(false);
});
