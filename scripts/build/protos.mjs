// Writes the protos as one module that a process loads without parsing them: node scripts/build/protos.mjs FOLDER
// Runs after the installation, as a part of generating the types.

import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const folder = join(root, 'proto', 'agentservice', 'v1');

/** Writes `protos.ts` into the folder. */
export function writeProtos(target) {
  const protobuf = createRequire(join(root, 'packages', 'contracts', 'package.json'))('protobufjs');
  const protos = new protobuf.Root();
  protos.resolvePath = (_origin, path) => join(root, 'proto', path);
  const names = readdirSync(folder).filter((name) => name.endsWith('.proto'));
  protos.loadSync(names.sort().map((name) => `agentservice/v1/${name}`));
  const json = JSON.stringify(JSON.stringify(protos.toJSON()));
  mkdirSync(target, { recursive: true });
  writeFileSync(
    join(target, 'protos.ts'),
    `// Generated from the protos.\nimport type { INamespace } from 'protobufjs';\n\nexport const protos: INamespace = JSON.parse(${json});\n`,
  );
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) writeProtos(resolve(process.argv[2]));
