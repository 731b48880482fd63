// Parses diagrams with Mermaid, where `npm run docs:site` has installed it: a JSON list of texts comes in, a list of their errors goes out, with null for those
// without one. A program of its own, because it replaces a library of Mermaid.
import { registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';

// Labels are sanitized while they are parsed, for which DOMPurify needs a browser. Nothing is shown here.
const unsanitized = 'data:text/javascript,export default { addHook() {}, sanitize: (text) => text }';
registerHooks({
  resolve: (specifier, context, next) => (specifier === 'dompurify' ? { url: unsanitized, shortCircuit: true } : next(specifier, context)),
});
const [folder = ''] = process.argv.slice(2);
const { default: mermaid } = await import(pathToFileURL(resolve(folder, 'dist', 'mermaid.core.mjs')).href);
const errors = [];
for (const diagram of JSON.parse(await text(process.stdin)))
  errors.push(
    await mermaid.parse(diagram).then(
      () => null,
      ({ message }) => message,
    ),
  );
console.log(JSON.stringify(errors));
