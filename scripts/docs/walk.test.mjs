import { testFolder } from '@agent-service/testkit';
import { beforeAll, expect, test } from '@jest/globals';
import { walk } from './walk.mjs';

const fence = '```';
const block = (marks, content) => `${fence}${marks}\n${content}\n${fence}\n`;
const options = { env: process.env, repository: '/', timeoutMs: 30_000 };

beforeAll(async () => {
  options.cwd = await testFolder();
});

test('the blocks of a document are run in one shell, whose commands cannot read the blocks behind them', async () => {
  const text = [
    block('sh run', 'NAME=reader\ngreet() { echo "hello $NAME"; }'),
    block('sh run', 'cat'),
    block('sh run in=repository', 'pwd'),
    block('sh run', 'greet'),
    block('text output', 'hello …'),
  ];
  expect(await walk(text.join('\n'), options)).toEqual({ outputs: ['', '', '/', 'hello reader'], faults: [] });
});

test('an output that differs is a fault, and a command that fails is an error with its line', async () => {
  const { faults } = await walk(`${block('sh run', 'echo two')}${block('text output', 'one')}`, options);
  expect(faults).toEqual(['line 1 printed\ntwo\nand not\none']);
  const text = `${block('sh run', 'echo one')}${block('sh run', 'echo why >&2\nfalse\necho on')}`;
  await expect(walk(text, options)).rejects.toThrow(/^line 4: the shell ended with 1 before the block was done:\n[\s\S]*why\n$/);
});

test('a block is left out where the machine lacks one of its needs', async () => {
  const text = block('sh run needs=docker,registry', 'echo pushed');
  expect((await walk(text, { ...options, needs: new Set(['docker']) })).outputs).toEqual([]);
  expect((await walk(text, { ...options, needs: new Set(['docker', 'registry']) })).outputs).toEqual(['pushed']);
});

test('a terminal goes on beside the blocks behind it, from when it has printed its output, and is interrupted at the end', async () => {
  const server =
    "trap 'rm -f terminal-of-a-test; exit' INT; touch terminal-of-a-test; echo ready at last; while :; do read -t 1 <> <(:) || true; done";
  const text = [block('sh run terminal', server), block('text output', 'ready …'), block('sh run', 'ls terminal-of-a-test')];
  expect((await walk(text.join('\n'), options)).outputs).toEqual(['ready at last\n', 'terminal-of-a-test']);
  await expect(walk(block('sh run', 'ls terminal-of-a-test'), options)).rejects.toThrow('line 1');
});

test('a terminal that ends before it has printed its output is an error', async () => {
  const text = `${block('sh run terminal', 'echo refused')}${block('text output', 'ready')}`;
  await expect(walk(text, options)).rejects.toThrow(/^line 1: the shell ended with 0 before it printed \/ready\/:\nrefused/);
});
