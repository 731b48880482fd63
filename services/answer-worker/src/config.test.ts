import { expect, test } from '@jest/globals';
import { readAnswerWorkerConfig } from './config.ts';

const withTimeZone = (name: string) =>
  readAnswerWorkerConfig({
    OPS_PORT: '0',
    SERVICE_SECRET: 'a-service-secret-that-is-long-enough',
    AGENTS_ADDRESS: 'agents:1',
    REDIS_URL: 'redis://127.0.0.1:1',
    DATA_TIME_ZONE: name,
  });

test.each([
  'UTC',
  'Etc/UTC',
  'Etc/GMT+3',
  'Europe/Berlin',
  'Europe/Kyiv',
  'Europe/Kiev',
  'Asia/Kolkata',
  'Asia/Calcutta',
  'America/Argentina/Buenos_Aires',
  'US/Eastern',
])('%s is a time zone of the data', (name) => {
  expect(withTimeZone(name).DATA_TIME_ZONE).toBe(name);
});

test.each(['+05:30', '-03', 'UTC+3', '<+03>-3', 'AST', 'EST5EDT', 'Europe/Paradise', 'Europe/Berlin '])(
  '"%s" is none, because it names no area or PostgreSQL may read it otherwise',
  (name) => {
    expect(() => withTimeZone(name)).toThrow('DATA_TIME_ZONE: must be the name of a time zone, such as Europe/Berlin');
  },
);
