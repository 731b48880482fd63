// Loaded before a worker's own modules: the process ends, as by a fault in native code, when it parses a text with this word.
const parse = JSON.parse;
JSON.parse = (text, ...rest) => {
  if (typeof text === 'string' && text.includes('end-this-process')) process.kill(process.pid, 'SIGKILL');
  return parse(text, ...rest);
};
