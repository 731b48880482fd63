import { expect, test } from '@jest/globals';
import { catalogue } from '../src/system/catalogue.ts';
import { enabledEntries } from '../src/system/plan.ts';

const namesOf = (settings: Record<string, string>) => enabledEntries(catalogue, settings).map(({ name }) => name);

test('a service that a setting enables runs only with it, and no other process gets its address', () => {
  for (const settings of [{}, { WEBHOOKS_ENABLED: 'false' }]) {
    expect(namesOf(settings)).not.toContain('webhooks');
    expect(namesOf(settings)).not.toContain('webhook-dispatcher');
    for (const { needs } of enabledEntries(catalogue, settings)) expect(needs).not.toContain('webhooks');
  }
  expect(namesOf({ WEBHOOKS_ENABLED: 'true' })).toEqual(catalogue.map(({ name }) => name));
  expect(enabledEntries(catalogue, { WEBHOOKS_ENABLED: 'true' })).toEqual(catalogue);
});
