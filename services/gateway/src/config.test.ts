import { expect, test } from '@jest/globals';
import { readGatewayConfig } from './config.ts';

const needed = {
  SERVICE_SECRET: 'x'.repeat(32),
  IDENTITY_ADDRESS: 'ipv4:127.0.0.1:1',
  CREDITS_ADDRESS: 'ipv4:127.0.0.1:2',
  AGENTS_ADDRESS: 'ipv4:127.0.0.1:3',
  TEMPLATES_ADDRESS: 'ipv4:127.0.0.1:4',
  REDIS_URL: 'redis://127.0.0.1:6379',
};

test('what can have a default has one', () => {
  expect(readGatewayConfig(needed)).toMatchObject({
    PORT: 8080,
    RATE_LIMIT_READS_PER_MINUTE: 600,
    RATE_LIMIT_WRITES_PER_MINUTE: 120,
    RATE_LIMIT_MESSAGES_PER_MINUTE: 60,
    RATE_LIMIT_END_USER_MESSAGES_PER_MINUTE: 20,
    RATE_LIMIT_TOKENS_PER_MINUTE: 30,
    RATE_LIMIT_FAILED_AUTHENTICATIONS_PER_MINUTE: 300,
    ANSWER_WAIT_SECONDS: 60,
    CONNECTIONS_PER_ADDRESS: 5_000,
    CORS_ORIGINS: [],
    PUBLIC_URL: '/',
  });
});

test('every fault is named, and no value is shown', () => {
  const faulty = () =>
    readGatewayConfig({ REDIS_URL: 'http://user:hidden@x', TRUSTED_PROXIES: '10.0.0.0/99', RATE_LIMIT_READS_PER_MINUTE: '0' });
  for (const name of [
    'IDENTITY_ADDRESS',
    'CREDITS_ADDRESS',
    'AGENTS_ADDRESS',
    'TEMPLATES_ADDRESS',
    'REDIS_URL',
    'TRUSTED_PROXIES',
    'RATE_LIMIT_READS_PER_MINUTE',
  ]) {
    expect(faulty).toThrow(`${name}: `);
  }
  expect(faulty).not.toThrow('hidden');
});

test.each([
  ['*', 'must name each origin, as https://app.example.com; * is refused'],
  ['https://a.example https://b.example/path', 'must be origins without a path'],
  ['https://A.example', 'in lower case'],
  ['null', 'must be origins'],
  ['file://x', 'must be origins'],
])('an origin that browsers would not send, or that stands for all of them, is refused: %s', (value, fault) => {
  expect(() => readGatewayConfig({ ...needed, CORS_ORIGINS: value })).toThrow(`CORS_ORIGINS: `);
  expect(() => readGatewayConfig({ ...needed, CORS_ORIGINS: value })).toThrow(fault);
});

test('origins are a list', () => {
  const { CORS_ORIGINS } = readGatewayConfig({ ...needed, CORS_ORIGINS: 'https://a.example, http://localhost:3000' });
  expect(CORS_ORIGINS).toEqual(['https://a.example', 'http://localhost:3000']);
});
