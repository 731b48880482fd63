import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { entityTag, isNamed, parseEntityTags, versionsMeant } from './conditions.ts';

describe('entity tags', () => {
  test.each([
    ['"1"', [1]],
    ['"1", "22"', [1, 22]],
    ['"1","22"', [1, 22]],
    [', "1" ,, "2" ,', [1, 2]],
    ['*', undefined],
    ['W/"1"', []],
    ['W/"1", "2"', [2]],
    ['"a,b", "2"', [2]],
    ['"01"', []],
    ['"99999999999"', []],
    ['""', []],
  ])('If-Match: %s means %j', (header, versions) => {
    const tags = parseEntityTags(header);
    expect(tags).toBeDefined();
    if (tags) expect(versionsMeant(tags)).toEqual(versions);
  });

  test.each(['', ' ', '1', '"1', '"1" "2"', 'w/"1"', '*, "1"', '"1", x', "'1'", '"a b"'])('%j is no list of them', (header) => {
    expect(parseEntityTags(header)).toBeUndefined();
  });

  test.each([
    ['"3"', true],
    ['W/"3"', true],
    ['"2", "3"', true],
    ['*', true],
    ['"2"', false],
    ['"03"', false],
  ])('If-None-Match: %s names version 3: %p', (header, named) => {
    const tags = parseEntityTags(header);
    expect(tags && isNamed(tags, 3)).toBe(named);
  });

  test('a version’s own tag is read back, alone and among others', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 999_999_999 }), { minLength: 1 }), (versions) => {
        const tags = parseEntityTags(versions.map(entityTag).join(', '));
        expect(tags && versionsMeant(tags)).toEqual(versions);
      }),
    );
  });

  test('a long list is read in time that grows with it', () => {
    const before = process.cpuUsage();
    expect(parseEntityTags(`${'"1",'.repeat(4_000)}${' '.repeat(4_000)}x`)).toBeUndefined();
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(500);
  });
});
