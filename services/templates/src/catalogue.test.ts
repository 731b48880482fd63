import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { parseTableScope } from '@agent-service/contracts/agents/data-scope';
import { tables } from '@agent-service/local/demonstration/schema';
import { testFolder } from '@agent-service/testkit';
import { describe, expect, test } from '@jest/globals';
import { operatorsTemplate, writeTemplate } from '../test/support/template-file.ts';
import { builtInFolder, loadCatalogue, readTemplateFolder } from './catalogue.ts';
import { categories } from './domain/template.ts';

const folderOf = async (...templates: object[]): Promise<string> => {
  const folder = join(await testFolder(), 'own');
  await mkdir(folder);
  await Promise.all(templates.map((template, index) => writeTemplate(folder, template, `${index}.json`)));
  return folder;
};

const columnsOf = (table: string): string[] =>
  (tables[table as keyof typeof tables] ?? '')
    .split(/,\s+(?=[a-z_]+ (?:integer|text|date|numeric|boolean))/)
    .map((one) => one.trim().split(' ')[0] ?? '');

describe('the templates that come with the service', () => {
  test('are valid, and at least three in each category', async () => {
    const { all } = await loadCatalogue();
    for (const category of categories)
      expect([category, all.filter((template) => template.category === category).length >= 3]).toEqual([category, true]);
  });

  test('have the path of their category and id, and a statement for each prompt', async () => {
    for (const file of await readTemplateFolder(builtInFolder)) {
      if (!('template' in file)) throw new Error(`${file.path}: ${file.faults}`);
      const { id, category, suggested_prompts: prompts } = file.template;
      expect(relative(builtInFolder, file.path)).toBe(join(category, `${id}.json`));
      expect(prompts.filter(({ sql }) => sql === undefined)).toEqual([]);
    }
  });

  test('use tables and columns of the demonstration data, read-only', async () => {
    const { all } = await loadCatalogue();
    for (const { id, tables: scope, requiredTables, readOnly } of all) {
      expect([id, readOnly]).toEqual([id, true]);
      for (const table of requiredTables) expect(Object.keys(tables)).toContain(table);
      for (const entry of scope) {
        const { table, columns } = parseTableScope(entry) ?? { table: '', columns: null };
        expect(columnsOf(table)).toEqual(expect.arrayContaining([...(columns ?? [])]));
      }
    }
  });

  test('require users:read where they show salaries', async () => {
    const { all } = await loadCatalogue();
    const showing = all.filter(({ tables: scope }) => scope.some((entry) => /^employees($|.*salary)/.test(entry)));
    expect(showing.map(({ requiredPermissions }) => requiredPermissions.includes('users:read'))).toEqual([true]);
  });
});

describe('the folder of the operator', () => {
  test('adds templates from nested folders and through links, as in mounted volumes', async () => {
    const folder = await folderOf(operatorsTemplate());
    await mkdir(join(folder, '..data'));
    await mkdir(join(folder, 'more'));
    await writeTemplate(join(folder, '..data'), operatorsTemplate({ id: 'tpl_linked' }));
    await symlink(join('..data', 'template.json'), join(folder, 'linked.json'));
    await writeTemplate(join(folder, 'more'), operatorsTemplate({ id: 'tpl_nested' }));
    await writeFile(join(folder, 'README.md'), 'no template');
    const [own, all] = [await loadCatalogue(), await loadCatalogue(folder)];
    const added = all.all.filter(({ id }) => !own.find(id)).map(({ id }) => id);
    expect(added.sort()).toEqual(['tpl_linked', 'tpl_nested', 'tpl_operators_own']);
    expect(all.find('tpl_operators_own')).toMatchObject({ suggestedPrompts: ['How many invoices are overdue?'], readOnly: true });
  });

  test.each([
    ['an unknown field', { nmae: 'x' }, /nmae/],
    ['an id in another form', { id: 'sales' }, /id: must be tpl_/],
    ['a name that is too long', { name: 'x'.repeat(101) }, /name: must have 1 to 100/],
    ['an unknown category', { category: 'legal' }, /category: /],
    ['too many prompts', { suggested_prompts: Array(6).fill('x') }, /suggested_prompts: /],
    ['a version that is not the newest of the changelog', { version: '2.0.0' }, /version: must be the newest/],
    [
      'a version of two numbers',
      { version: '1.0', changelog: [{ version: '1.0', date: '2026-01-01', changes: 'x' }] },
      /changelog.0.version/,
    ],
    ['a date that does not exist', { changelog: [{ version: '1.0.0', date: '2026-02-30', changes: 'x' }] }, /changelog.0.date/],
    [
      'a changelog from oldest to newest',
      {
        changelog: [
          { version: '1.0.0', date: '2026-01-01', changes: 'x' },
          { version: '1.0.1', date: '2026-01-02', changes: 'y' },
        ],
      },
      /changelog: must go from the newest/,
    ],
    [
      'a table in scope that is not required',
      { data_scope: { tables: ['payments'] } },
      /data_scope.tables.0: must be one of required_tables/,
    ],
    ['a permission that is not a scope', { required_permissions: ['everything'] }, /required_permissions.0: is not a scope/],
    ['the id of a template that comes with the service', { id: 'tpl_sales_performance' }, /id: tpl_sales_performance is the id of /],
  ])('is refused with the file and the field for %s', async (_, more, fault) => {
    const loading = loadCatalogue(await folderOf(operatorsTemplate(more)));
    await expect(loading).rejects.toThrow(fault);
    await expect(loading).rejects.toThrow(/TEMPLATES_DIR: .*0\.json: /s);
  });

  test('is refused with all faults at once, and when it does not exist', async () => {
    const folder = await folderOf(operatorsTemplate({ id: 'x' }), operatorsTemplate({ id: 'y' }));
    await writeFile(join(folder, 'broken.json'), '{');
    await expect(loadCatalogue(folder)).rejects.toThrow(/0\.json: id.*1\.json: id.*broken\.json: /s);
    await expect(loadCatalogue(join(folder, 'nowhere'))).rejects.toThrow(/TEMPLATES_DIR: .*nowhere cannot be read/s);
  });
});
