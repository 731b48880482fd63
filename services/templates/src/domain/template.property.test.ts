import { definitionFromMessage } from '@agent-service/contracts/agents/definition';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { categories, compareSortKeys, filterTemplates, paginate, sortKeyOf, sortTemplates, type Template } from './template.ts';

const word = fc.string({ unit: fc.constantFrom('a', 'B', 'b', 'é', 'ß', 'ẞ', '%', ' ', '\u{1f600}'), minLength: 1, maxLength: 6 });

/** Templates with few names between them, so that some names are equal. */
const catalogues: fc.Arbitrary<Template[]> = fc
  .array(fc.record({ name: word, description: word, category: fc.constantFrom(...categories) }), { maxLength: 40 })
  .map((all) =>
    all.map((fields, index) => ({
      ...definitionFromMessage({}),
      ...fields,
      id: `tpl_${index}`,
      longDescription: 'x',
      version: '1.0.0',
      requiredTables: [],
      requiredPermissions: [],
      changelog: [{ version: '1.0.0', date: '2026-01-01', changes: 'x' }],
    })),
  );

const available = () => 'available' as const;
const everything = { category: '', status: '', search: '' };

test('pages of any size contain the whole sorted list, each template once', () => {
  fc.assert(
    fc.property(catalogues, fc.integer({ min: 1, max: 7 }), (all, limit) => {
      const ordered = sortTemplates(all);
      const walked: Template[] = [];
      let page = paginate(ordered, undefined, limit);
      while (page.last) {
        expect(page.templates).toHaveLength(limit);
        walked.push(...page.templates);
        page = paginate(ordered, page.last, limit);
      }
      expect([...walked, ...page.templates]).toEqual(ordered);
      expect(page.templates).toHaveLength(ordered.length === 0 ? 0 : ((ordered.length - 1) % limit) + 1);
      for (const [index, template] of ordered.entries())
        if (index > 0) expect(compareSortKeys(sortKeyOf(ordered[index - 1] as Template), sortKeyOf(template))).toBe(-1);
    }),
  );
});

test('templates are sorted by category, name and id, and kept by what a filter names', () => {
  const template = (category: string, name: string, id: string) => ({ category, name, id, description: '' }) as Template;
  const sorted = [template('finance', 'B', '3'), template('hr', 'A', '2'), template('hr', 'B', '1'), template('hr', 'B', '4')];
  const idsOf = (all: readonly Template[]) => all.map(({ id }) => id).join('');
  expect(idsOf(sortTemplates(sorted.toReversed()))).toBe('3214');
  const statusOf = (id: string) => (id === '1' ? 'activated' : 'available');
  const filters = [{ category: 'hr' }, { status: 'activated' }, { status: 'available', category: 'finance' }, { search: 'a' }];
  expect(filters.map((filter) => idsOf(filterTemplates(sorted, { ...everything, ...filter }, statusOf)))).toEqual(['214', '1', '3', '2']);
});

test('a page continues after its sort key although the catalogue has changed', () => {
  fc.assert(
    fc.property(catalogues, fc.nat(40), fc.nat(40), (all, at, removed) => {
      const ordered = sortTemplates(all);
      const from = ordered[at % Math.max(1, ordered.length)];
      if (!from) return;
      const later = ordered.filter((_, index) => index !== removed % ordered.length);
      const behind = later.filter((template) => compareSortKeys(sortKeyOf(template), sortKeyOf(from)) > 0);
      expect(paginate(later, sortKeyOf(from), 100).templates).toEqual(behind);
    }),
  );
});

test('two filters together keep the templates that each of them keeps', () => {
  fc.assert(
    fc.property(catalogues, fc.constantFrom('', ...categories), fc.constantFrom('', 'activated', 'available'), (all, category, status) => {
      const statusOf = (id: string) => (Number(id.slice(4)) % 3 === 0 ? 'activated' : 'available');
      const both = filterTemplates(all, { category, status, search: '' }, statusOf);
      const one = filterTemplates(all, { ...everything, category }, statusOf);
      const other = filterTemplates(all, { ...everything, status }, statusOf);
      expect(both).toEqual(all.filter((template) => one.includes(template) && other.includes(template)));
    }),
  );
});

test('a search for a part of a name or description finds the template in any case, and % and _ have no special meaning', () => {
  fc.assert(
    fc.property(catalogues, fc.nat(40), fc.nat(6), fc.nat(6), fc.boolean(), (all, which, from, length, upper) => {
      const template = all[which % Math.max(1, all.length)];
      if (!template) return;
      const part = [...(upper ? template.name : template.description)].slice(from, from + length).join('');
      const search = upper ? part.toUpperCase() : part.toLowerCase();
      expect(filterTemplates(all, { ...everything, search }, available)).toContain(template);
    }),
  );
  const [percent] = filterTemplates(
    [{ name: 'abc', description: 'x' } as Template, { name: '5 %', description: 'x' } as Template],
    { ...everything, search: '%' },
    available,
  );
  expect(percent?.name).toBe('5 %');
});
