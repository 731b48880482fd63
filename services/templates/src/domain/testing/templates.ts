import fc from 'fast-check';
import { categories, type Template, tiers } from '../template.ts';

const word = fc.string({ unit: fc.constantFrom('a', 'B', 'b', 'é', 'ß', '%', ' ', '\u{1f600}'), minLength: 1, maxLength: 6 });

/** Templates with few names between them, so that ties are met. */
export const catalogues: fc.Arbitrary<Template[]> = fc
  .array(fc.record({ name: word, description: word, category: fc.constantFrom(...categories) }), { maxLength: 40 })
  .map((all) =>
    all.map((given, index) => ({
      ...given,
      id: `tpl_${index}`,
      longDescription: 'x',
      version: '1.0.0',
      model: tiers[0],
      systemPrompt: 'x',
      welcomeMessage: 'x',
      suggestedPrompts: ['x'],
      tables: [],
      readOnly: true,
      defaultFormat: 'markdown',
      chartEnabled: false,
      requiredTables: [],
      requiredPermissions: [],
      changelog: [{ version: '1.0.0', date: '2026-01-01', changes: 'x' }],
    })),
  );
