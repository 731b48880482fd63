import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { checkJobs } from './released/jobs.mjs';
import { checkMigrations, checkStep, fingerprintOf } from './released/migrations.mjs';

const step = (name, ...statements) => ({ name, statements });

test('protos, jobs and migrations work together with those of the last release', () => {
  const { stdout, stderr } = spawnSync(process.execPath, ['scripts/released.mjs'], { encoding: 'utf8' });
  expect(`${stdout}${stderr}`).toBe('');
});

test.each([
  ['create index things_name_index on things (name)', 'create it concurrently'],
  ['alter table things add column size integer not null', 'not null without a default'],
  ['alter table things add column id uuid default gen_random_uuid()', 'rewrites the table'],
  ["alter table things add column kind text check (kind <> '')", 'reads every row'],
  ['alter table things add column owner text references owners (id)', 'reads every row'],
  ["alter table things add constraint kind_check check (kind <> '')", 'reads every row'],
  ['alter table things validate constraint kind_check', 'in "preparation"'],
  ['alter table things alter column size type bigint', 'AT_AlterColumnType'],
  ['alter table things alter column size set not null', 'AT_SetNotNull'],
  ['alter table things drop column size', 'say in "contracts"'],
  ['drop table things', 'drops things'],
  ['alter table things rename column size to length', 'unknown to processes'],
  ['update things set size = 0', 'in a sweep'],
  ['delete from things where size = 0', 'in a sweep'],
  ['insert into others select * from things', 'in a sweep'],
  ['lock table things', 'LockStmt is not allowed'],
  ['truncate things', 'TruncateStmt is not allowed'],
  ['vacuum full things', 'VacuumStmt is not allowed'],
  ['do $$ begin null; end $$', 'DoStmt is not allowed'],
  ["set lock_timeout = '1h'", 'VariableSetStmt is not allowed'],
])('a migration with "%s" is refused', (statement, finding) => {
  expect(checkStep(step('0001', statement))).toEqual([expect.stringContaining(finding)]);
});

test.each([
  [
    'a new table with all it needs',
    {
      statements: [
        "create table new (id text primary key, kind text check (kind <> '')); create index on new (kind)",
        'insert into new select id, kind from old',
      ],
    },
  ],
  [
    'columns that are null or have a constant',
    {
      statements: [
        "alter table things add column size integer, add column kind text not null default 'a', add column at timestamptz not null default now()",
      ],
    },
  ],
  [
    'an index that is made concurrently',
    { preparation: ['create index concurrently if not exists by_kind on things (kind)'], statements: [] },
  ],
  [
    'a constraint in two steps',
    {
      preparation: ['alter table things validate constraint kind_check'],
      statements: ["alter table things add constraint other_check check (kind <> 'b') not valid"],
    },
  ],
  [
    'a drop of what is not used any more',
    { contracts: 'no process reads it since 0.2', statements: ['alter table things drop column size'] },
  ],
])('%s is allowed', (_, migration) => {
  expect(checkStep(migration)).toEqual([]);
});

test('a released migration is neither changed nor removed', () => {
  const [first, second] = [step('0001', 'create table a (id text)'), step('0002', 'create table b (id text)')];
  const released = { '0001': fingerprintOf(first), '0002': fingerprintOf(second) };
  expect(checkMigrations('things', [first, second], released)).toEqual([]);
  expect(checkMigrations('things', [step('0001', 'create table a (id uuid)')], released)).toEqual([
    'things 0001: a released migration was changed',
    'things 0002: a released migration was removed',
  ]);
});

test('payloads of jobs may only get optional fields', () => {
  const text = { type: 'string' };
  const kind = (properties, required) => ({ run: { queue: 'runs', payload: { type: 'object', properties, required } } });
  const released = kind({ id: text }, ['id']);
  expect(checkJobs(kind({ id: text, more: text }, ['id']), released)).toEqual([]);
  expect(checkJobs(kind({ id: text, more: text }, ['id', 'more']), released)).toEqual([expect.stringContaining('more is required')]);
  expect(checkJobs(kind({ id: text }, []), released)).toEqual([expect.stringContaining('id is optional')]);
  expect(checkJobs(kind({}, []), released)).toEqual([expect.stringContaining('id was removed'), expect.stringContaining('id is optional')]);
  expect(checkJobs(kind({ id: { type: 'integer' } }, ['id']), released)).toEqual([expect.stringContaining('id was changed')]);
  expect(checkJobs({ run: { ...released.run, queue: 'other' } }, released)).toEqual([expect.stringContaining('renamed')]);
  expect(checkJobs({}, released)).toEqual([expect.stringContaining('was removed')]);
});
