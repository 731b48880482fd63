// Writes the protos as one module that a process loads without parsing them: node scripts/build/protos.mjs FOLDER FILE...
// Runs after the installation, as a part of generating the types.

import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const { default: protobuf } = await import(createRequire(join(root, 'packages', 'contracts', 'package.json')).resolve('protobufjs'));
const [folder, ...files] = process.argv.slice(2);

const protos = new protobuf.Root();
protos.resolvePath = (_origin, target) => join(root, 'proto', target);
protos.loadSync(files);
const json = JSON.stringify(JSON.stringify(protos.toJSON()));
writeFileSync(
  join(folder, 'protos.ts'),
  `// Generated from the protos.\nimport type { INamespace } from 'protobufjs';\n\nexport const protos: INamespace = JSON.parse(${json});\n`,
);
