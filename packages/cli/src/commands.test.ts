import { afterEach, expect, jest, test } from '@jest/globals';
import { print, printableFailure } from './commands.ts';

afterEach(() => void jest.restoreAllMocks());

function printed(result: Parameters<typeof print>[0], asJson = false): string {
  const written: string[] = [];
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  print(result, asJson);
  return written.join('');
}

/** Users of an organization may write any text into a name. */
const hostile = 'Ada\n\u001b[2J\u009b1A\u202eusr_1  admin';

test('a name can neither add a line to what is printed nor control the terminal', () => {
  const output = 'Ada\\n\\u001b[2J\\u009b1A\\u202eusr_1  admin';
  expect(printed({ name: hostile })).toBe(`name: ${output}\n`);
  expect(printed({ users: [{ id: 'usr_2', name: hostile }] })).toBe(`id     name\nusr_2  ${output}\n`);
  // A failure may have several lines.
  expect(printableFailure(new Error(hostile))).toBe(output.replace('\\n', '\n'));
});

test('one JSON object has the name as it is', () => {
  expect(JSON.parse(printed({ name: hostile }, true))).toEqual({ name: hostile });
});
