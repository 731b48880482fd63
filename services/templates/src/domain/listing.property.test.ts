import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { comparePlaces, inOrder, matching, pageOf, placeOf } from './listing.ts';
import { categories, type Template } from './template.ts';
import { catalogues } from './testing/templates.ts';

const available = () => 'available' as const;
const everything = { category: '', status: '', search: '' };

test('pages of any size make up the whole list in its order, each template once', () => {
  fc.assert(
    fc.property(catalogues, fc.integer({ min: 1, max: 7 }), (all, limit) => {
      const ordered = inOrder(all);
      const walked: Template[] = [];
      let page = pageOf(ordered, undefined, limit);
      while (page.last) {
        expect(page.templates).toHaveLength(limit);
        walked.push(...page.templates);
        page = pageOf(ordered, page.last, limit);
      }
      expect([...walked, ...page.templates]).toEqual(ordered);
      for (const [index, template] of ordered.entries())
        if (index > 0) expect(comparePlaces(placeOf(ordered[index - 1] as Template), placeOf(template))).toBe(-1);
    }),
  );
});

test('a page goes on behind its place, whatever has come or gone in the catalogue meanwhile', () => {
  fc.assert(
    fc.property(catalogues, fc.nat(40), fc.nat(40), (all, at, gone) => {
      const ordered = inOrder(all);
      const from = ordered[at % Math.max(1, ordered.length)];
      if (!from) return;
      const later = ordered.filter((_, index) => index !== gone % ordered.length);
      const behind = later.filter((template) => comparePlaces(placeOf(template), placeOf(from)) > 0);
      expect(pageOf(later, placeOf(from), 100).templates).toEqual(behind);
    }),
  );
});

test('filters only leave out, and together leave out what any of them does', () => {
  fc.assert(
    fc.property(catalogues, fc.constantFrom('', ...categories), fc.constantFrom('', 'activated', 'available'), (all, category, status) => {
      const statusOf = (id: string) => (Number(id.slice(4)) % 3 === 0 ? 'activated' : 'available');
      const both = matching(all, { category, status, search: '' }, statusOf);
      const one = matching(all, { ...everything, category }, statusOf);
      const other = matching(all, { ...everything, status }, statusOf);
      expect(both).toEqual(all.filter((template) => one.includes(template) && other.includes(template)));
    }),
  );
});

test('every part of a name or a description finds its template, in any case, and signs are only signs', () => {
  fc.assert(
    fc.property(catalogues, fc.nat(40), fc.nat(6), fc.nat(6), fc.boolean(), (all, which, from, length, upper) => {
      const template = all[which % Math.max(1, all.length)];
      if (!template) return;
      const part = [...(upper ? template.name : template.description)].slice(from, from + length).join('');
      const search = upper ? part.toUpperCase() : part.toLowerCase();
      // ß becomes two letters in capitals; that is another text.
      if ([...search].length !== [...part].length) return;
      expect(matching(all, { ...everything, search }, available)).toContain(template);
    }),
  );
  const [percent] = matching(
    [{ name: 'abc', description: 'x' } as Template, { name: '5 %', description: 'x' } as Template],
    { ...everything, search: '%' },
    available,
  );
  expect(percent?.name).toBe('5 %');
});
