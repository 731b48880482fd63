import { EventEmitter } from 'node:events';
import { expect, test } from '@jest/globals';
import { abortedWithClient, type Exchange } from './exchange.ts';

const exchange = (abandoned: boolean, writableEnded: boolean) => {
  const response = Object.assign(new EventEmitter(), { writableEnded }) as unknown as Exchange['response'];
  return { response, abandoned };
};

test('a client that disconnects before the reply aborts the signal, also if it did so before the signal was made', () => {
  const leaving = exchange(false, false);
  const signal = abortedWithClient(leaving);
  expect(signal.aborted).toBe(false);
  leaving.response.emit('close');
  expect(signal.aborted).toBe(true);
  expect(abortedWithClient(exchange(true, false)).aborted).toBe(true);
});

test('a client that received the reply did not disconnect', () => {
  const answered = exchange(false, true);
  const signal = abortedWithClient(answered);
  answered.response.emit('close');
  expect(signal.aborted).toBe(false);
});
