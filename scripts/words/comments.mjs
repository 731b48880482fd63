// Comments of files that are not TypeScript, as `{ position, text }`: a reader for each kind of comment.

/** Comments from `//` to the end of a line: protos and programs that Node runs as they are. */
const slashed = (text) => [...readBlocks(text, /\/\*[\s\S]*?\*\//g, /\/\*\*?|\*\/|^[ \t]*\*/gm), ...readLines(text, '//')];

/** Comments from `#` to the end of a line, and the comments of Helm templates. */
const hashed = (text) => [...readBlocks(text, /\{\{-?\s*\/\*[\s\S]*?\*\//g, /\{\{-?\s*\/\*|\*\//g), ...readLines(text, '#')];

/** Docstrings are comments too. */
const python = (text) => [...readBlocks(text, /"""[\s\S]*?"""/g, /"""/g), ...readLines(text, '#')];

const readers = {
  proto: slashed,
  mjs: slashed,
  yaml: hashed,
  yml: hashed,
  tpl: hashed,
  sh: hashed,
  run: hashed,
  Dockerfile: hashed,
  py: python,
};

export function readComments(path, text) {
  const read = readers[path.replace(/^.*[./]/, '')];
  if (!read) throw new Error(`no reader for the comments of ${path}`);
  return read(text);
}

/** A run of comments that fill their lines is one text, so that sentences are whole. */
function readLines(text, marker) {
  const runs = new RegExp(`(?:^[ \\t]*${marker}(?!!)[^\\n]*\\n?)+|(?<=[ \\t])${marker} [^\\n]*`, 'gm');
  const markers = new RegExp(`^[ \\t]*${marker}[ \\t]?`, 'gm');
  return [...text.matchAll(runs)].map(({ index, 0: raw }) => ({ position: index, text: raw.replace(markers, blank) }));
}

const readBlocks = (text, blocks, markers) =>
  [...text.matchAll(blocks)].map(({ index, 0: raw }) => ({ position: index, text: raw.replace(markers, blank) }));

/** As many blanks, so that positions stay. */
const blank = (marker) => ' '.repeat(marker.length);
