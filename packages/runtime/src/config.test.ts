import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { ConfigurationError, readConfig, setting } from './config.ts';

const schema = z.object({
  PORT: setting.port(8080),
  POOL_MAX: setting.integer(10, 1, 50),
  DATABASE_URL: setting.url('postgres:'),
  ENABLED: setting.flag(false),
  TOKEN: setting.secret(),
});
const valid = { DATABASE_URL: 'postgres://localhost/x', TOKEN: 'x'.repeat(32) };

test('defaults are valid, and an empty value counts as absent', () => {
  expect(readConfig(schema, { ...valid, PORT: '', UNKNOWN: 'x' })).toEqual({ ...valid, PORT: 8080, POOL_MAX: 10, ENABLED: false });
  expect(readConfig(schema, { ...valid, PORT: '0', ENABLED: 'true' })).toMatchObject({ PORT: 0, ENABLED: true });
});

test('all faults are reported together, with the settings’ names and without their values', () => {
  const env = { PORT: '99999', POOL_MAX: 'many', ENABLED: 'yes', DATABASE_URL: 'mysql://root:hunter2@localhost', TOKEN: 'short-secret' };
  const read = () => readConfig(schema, env);
  expect(read).toThrow(ConfigurationError);
  for (const name of Object.keys(env)) expect(read).toThrow(new RegExp(`^  ${name}: must`, 'm'));
  expect(read).not.toThrow(/hunter2|short-secret|99999/);
  expect(() => readConfig(schema, {})).toThrow(/DATABASE_URL: is required and not set/);
});

test.each(['1.5', '-1', '1e3', ' 5', '0x10', '51', 'NaN'])('a malformed value is an error and never the default: %s', (value) => {
  expect(() => readConfig(schema, { ...valid, POOL_MAX: value })).toThrow(/POOL_MAX/);
});
