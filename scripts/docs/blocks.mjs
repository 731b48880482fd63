// The documents of the repository and their code blocks.
import * as fs from 'node:fs';

const skipped = /(^|\/)(node_modules|\.data|\.cache|dist|results)\//;

/** Every markdown file of ours, by its path. */
export function readDocuments() {
  const paths = fs.globSync(
    '{*.md,.github/**/*.md,bench/**/*.md,clients/**/*.md,deploy/**/*.md,docs/**/*.md,examples/**/*.md,packages/**/*.md,services/**/*.md}',
    {
      exclude: (name) => skipped.test(`${String(name)}/`),
    },
  );
  return new Map([...new Set(paths)].sort().map((path) => [path, fs.readFileSync(path, 'utf8')]));
}

/** The needs of blocks (`needs=`) that not every machine meets. */
export const needWords = {
  docker: 'a Docker engine',
  compose: 'Docker Compose',
  registry: 'a registry of images',
  kubernetes: 'a cluster',
  postgresql: "PostgreSQL's programs",
};

/** The fenced blocks of a text: the first word behind the fence is the language, the others say what a test does with the block. */
export function blocksOf(text) {
  const blocks = [];
  let open;
  for (const [index, line] of text.split('\n').entries()) {
    const fence = /^\s*```+(.*)$/.exec(line);
    if (!fence) open?.lines.push(line);
    else if (open) {
      blocks.push({ ...open, content: open.lines.join('\n') });
      open = undefined;
    } else {
      const [language = '', ...marks] = fence[1].trim().split(/\s+/);
      open = { language, marks, line: index + 1, lines: [] };
    }
  }
  return blocks;
}

/** The text without its fenced blocks, with as many lines. */
export function proseOf(text) {
  let isCode = false;
  return text
    .split('\n')
    .map((line) => {
      const isFence = /^\s*```/.test(line);
      if (isFence) isCode = !isCode;
      return isFence || isCode ? '' : line;
    })
    .join('\n');
}
