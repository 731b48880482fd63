// Blocks of lines that occur more than once.

/** Lines that say something: no blanks, comments, imports or lone brackets. */
function meaningfulLines(text) {
  let isImport = false;
  let isComment = false;
  return text.split('\n').flatMap((raw, index) => {
    const line = raw.trim();
    if (line.startsWith('/*')) isComment = true;
    const isSkipped = isComment || isImport || /^(import|export .* from)\b/.test(line) || line.startsWith('//') || !/\w/.test(line);
    if (/^(import|export) (type )?\{[^}]*$/.test(line)) isImport = true;
    if (isImport && line.includes('}')) isImport = false;
    if (line.includes('*/')) isComment = false;
    return isSkipped ? [] : [{ line, number: index + 1 }];
  });
}

/** Blocks of at least `size` meaningful lines that occur twice or more, each with its occurrences, longest first. */
export function duplicatedBlocks(texts, size) {
  const lines = new Map([...texts].map(([path, text]) => [path, meaningfulLines(text)]));
  const lineAt = ({ path, at }, offset) => lines.get(path)[at + offset]?.line;
  const windows = [...lines].flatMap(([path, all]) => all.slice(size - 1).map((_, at) => ({ path, at })));
  const contentOf = ({ path, at }) =>
    lines
      .get(path)
      .slice(at, at + size)
      .map(({ line }) => line)
      .join('\n');
  const covered = new Set();
  const blocks = [];
  for (const occurrences of Map.groupBy(windows, contentOf).values()) {
    if (occurrences.length === 1 || occurrences.some(({ path, at }) => covered.has(`${path}:${at}`))) continue;
    const length = commonLength(occurrences, lineAt, size);
    for (const { path, at } of occurrences)
      for (let offset = 0; offset + size <= length; offset += 1) covered.add(`${path}:${at + offset}`);
    blocks.push({ length, places: occurrences.map(({ path, at }) => `${path}:${lines.get(path)[at].number}`) });
  }
  return blocks.sort((a, b) => b.length - a.length);
}

function commonLength(occurrences, lineAt, least) {
  let length = least;
  const goesOn = () =>
    lineAt(occurrences[0], length) !== undefined &&
    occurrences.every((occurrence) => lineAt(occurrence, length) === lineAt(occurrences[0], length));
  while (goesOn()) length += 1;
  return length;
}
