import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { duplicatedBlocks } from './structure/duplicates.mjs';

const root = mkdtempSync(join(tmpdir(), 'structure-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function write(files) {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
}

const lines = (count, line) => Array.from({ length: count }, (_, index) => line(index)).join('\n');
const empty = (name) => `export const ${name} = () => undefined;\n`;

write({
  'tsconfig.json': JSON.stringify({
    compilerOptions: { module: 'nodenext', allowImportingTsExtensions: true, noEmit: true, strict: true, types: [] },
    include: ['packages/*/src', 'services/*/src'],
  }),
  'packages/queue/package.json': JSON.stringify({ name: '@agent-service/queue', exports: { '.': './src/index.ts' } }),
  'packages/queue/src/index.ts': `export { createQueue, type Queue } from './queue.ts';\n`,
  'packages/queue/src/queue.ts': `export interface Queue { add(item: string): void }
export function createQueue(options: { run(item: string): void }): Queue {
  return { add: (item) => options.run(item) };
}\n`,
  'services/gateway/src/routes/send-message.ts': empty('sendMessage'),
  'services/gateway/src/routes/activate-template.ts': empty('activateTemplate'),
  'services/gateway/src/routes/revoke-key.ts': empty('revokeKey'),
  'services/agents/src/start.ts': `import { createBooks } from './books/create.ts';\nexport const books = createBooks();\n`,
  'services/agents/src/rpc/start-answer.ts': `import type { Books } from '../books/books.ts';
import { unusedHelper } from '../books/unused.ts';
import { Desk } from '../desk/desk.ts';
export const startAnswer = ({ books }: { books: Books }) => ({ handle: () => (books.write('x'), books.queue.add('y'), new Desk().take('z')) });
export const other = () => unusedHelper();\n`,
  'services/agents/src/rpc/complete-answer.ts': `import type { Credits } from '../credits.ts';
export const completeAnswer = ({ credits }: { credits: Credits }) => credits.settle();\n`,
  'services/agents/src/rpc/activate-template-agent.ts': empty('activateTemplateAgent'),
  'services/agents/src/credits.ts': `export interface Credits { settle(): void }\n`,
  'services/agents/src/books/books.ts': `import type { Queue } from '@agent-service/queue';
import { limit } from '../pages/limit.ts';
export interface Books { write(line: string): void; read(): string; readonly queue: Queue; readonly title: string }
export const longest = limit;\n`,
  'services/agents/src/books/create.ts': `import { createQueue } from '@agent-service/queue';
import type { Books } from './books.ts';
import { onItem } from './on-item.ts';
import { readAll } from './read-all.ts';
import { writeLine } from './write-line.ts';
export function createBooks(): Books {
  return { write: (line) => writeLine(line), read: () => readAll(), queue: createQueue({ run: onItem }), title: 'books' };
}\n`,
  'services/agents/src/books/on-item.ts': empty('onItem'),
  'services/agents/src/books/read-all.ts': `export const readAll = () => '';\n`,
  'services/agents/src/books/write-line.ts': `export const writeLine = (line: string) => void line;\n`,
  'services/agents/src/books/unused.ts': empty('unusedHelper'),
  'services/agents/src/desk/desk.ts': `import { onTaken } from './on-taken.ts';
export class Desk {
  readonly #onTake: (item: string) => void;
  constructor() {
    this.#onTake = (item) => this.#run(item);
  }
  take(item: string) { this.#onTake(item); }
  #run(item: string) { onTaken(); return item; }
}\n`,
  'services/agents/src/desk/on-taken.ts': empty('onTaken'),
  'services/agents/src/pages/limit.ts': `import type { Books } from '../books/books.ts';\nexport const limit = 1;\nexport type Page = Books;\n`,
  'services/agents/src/pages/limit.test.ts': lines(500, (index) => `export const test${index} = ${index};`),
  'services/agents/src/long.ts': `export function long(): number {\n${lines(70, (index) => `  const a${index} = ${index};`)}\n  return a0;\n}\n`,
  'services/agents/src/longer.ts': `${lines(401, (index) => `export const b${index} = ${index};`)}\n`,
  'services/credits/src/rpc/hold.ts': empty('hold'),
  'services/credits/src/rpc/settle.ts': empty('settle'),
  'services/templates/src/rpc/activate-template.ts': empty('activateTemplate'),
  'services/identity/src/rpc/revoke-key.ts': empty('revokeKey'),
  'services/webhooks/src/rpc/begin-delivery.ts': empty('beginDelivery'),
  'services/webhooks/src/rpc/end-delivery.ts': empty('endDelivery'),
  'services/webhook-dispatcher/src/start.ts': `import { deliver } from './deliver.ts';
const startWorker = (queue: string, options: { handle: () => void }) => [queue, options];
export const start = () => startWorker('deliveries', { handle: () => deliver() });\n`,
  'services/webhook-dispatcher/src/deliver.ts': empty('deliver'),
});

mkdirSync(join(root, 'node_modules/@agent-service'), { recursive: true });
symlinkSync(join(root, 'packages/queue'), join(root, 'node_modules/@agent-service/queue'));

const script = new URL('structure.mjs', import.meta.url).pathname;

function run(...options) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--root', root, ...options], { encoding: 'utf8' });
  // The compiler that the script has ended may still say so.
  if (status !== 0) throw new Error(`the script ended with ${status}: ${stderr}`);
  return stdout;
}

describe('the structure script', () => {
  const figures = JSON.parse(run('--json'));

  test('counts source files without tests', () => {
    expect(figures.files).toBe(29);
  });

  test('finds long functions, long files and helpers', () => {
    expect(figures.longFunctions).toEqual(['services/agents/src/long.ts:1 (73 lines)']);
    expect(figures.longFiles).toEqual(['services/agents/src/longer.ts (401)']);
    expect(figures.helpers.map((helper) => helper.split(' ')[0])).toContain('services/agents/src/books/on-item.ts');
  });

  test('finds folders that import each other through any of their files', () => {
    expect(figures.folderCycles).toEqual(['services/agents/src/books <-> services/agents/src/pages']);
  });

  test('counts the users of an export behind the index that passes it on', () => {
    expect(figures.exportsOfOneUser).toContain('packages/queue/src/queue.ts#createQueue <- services/agents/src/books/create.ts');
    expect(figures.exportsOfOneUser.join()).not.toContain('#Books ');
  });

  test('tells the exports of one user apart by the boundary to it', () => {
    const namesOf = (kind) => (figures.oneUserKinds[kind] ?? []).map(({ name }) => name.split('#')[1]);
    expect(namesOf('table')).toContain('createBooks');
    expect(namesOf('workspace')).toEqual(['Queue', 'createQueue']);
    expect(namesOf('layer')).toContain('unusedHelper');
    expect(namesOf('folder')).toEqual(expect.arrayContaining(['onItem', 'readAll', 'writeLine']));
  });

  test('follows methods through interfaces, queues and private fields to their code, and no further', () => {
    const accepted = figures.behaviours.find(({ name }) => name === 'accept a message');
    expect(accepted.byService.agents).toEqual([
      'services/agents/src/books/create.ts',
      'services/agents/src/books/on-item.ts',
      'services/agents/src/books/write-line.ts',
      'services/agents/src/desk/desk.ts',
      'services/agents/src/desk/on-taken.ts',
      'services/agents/src/rpc/start-answer.ts',
    ]);
    expect(accepted.reached).toContain('packages/queue/src/queue.ts');
  });

  test('finds the handler of a worker, and the caller of a method', () => {
    const reachedBy = (behaviour) => figures.behaviours.find(({ name }) => name === behaviour).reached;
    expect(reachedBy('retry a webhook')).toContain('services/webhook-dispatcher/src/deliver.ts');
    expect(reachedBy('settle an answer')).toContain('services/agents/src/rpc/complete-answer.ts');
  });

  test('measures one folder', () => {
    expect(run('services/credits')).toMatch(/^source files +2$/m);
  });
});

test('duplicated blocks are found whole, with every place, across blank lines and comments', () => {
  const block = lines(8, (index) => `call(${index});`);
  const texts = new Map([
    ['a.ts', `first();\n${block}\nlast();\n`],
    ['b.ts', `${block.replace('call(3);', '\n// why\ncall(3);')}\n`],
    ['c.ts', lines(5, (index) => `call(${index});`)],
  ]);
  expect(duplicatedBlocks(texts, 6)).toEqual([{ length: 8, places: ['a.ts:2', 'b.ts:1'] }]);
});
