// Writes the types of the TypeScript client from the OpenAPI document of the gateway's routes: node scripts/build/client-types.mjs FOLDER
// Runs on Node >= 24, because it imports the sources of the gateway, and after the types of the protos, which these need.

import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publicErrorCodes } from '../../packages/contracts/src/errors/error-codes.ts';
import { createOpenApi } from '../../services/gateway/src/openapi/document.ts';
import { everyRoute } from '../../services/gateway/src/routes/index.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const installed = createRequire(join(root, 'packages', 'client', 'package.json'));
const { default: openapiTypes, astToString } = installed('openapi-typescript');

/** Headers are read from responses by their names, and a type called Error would hide the one of JavaScript. */
const renamed = (text) =>
  text.replaceAll(/^export type (Header\w+|webhooks|\$defs) = .*\n/gm, '').replace('export type Error =', 'export type ErrorBody =');

const header = '// Generated from the OpenAPI document of the gateway by scripts/build/client-types.mjs. Any change is lost.\n\n';

/** Later versions may add codes, so any other text is one too. */
const errorCodes = [
  ...Object.keys(publicErrorCodes),
  ...['invalid_client', 'unsupported_grant_type', 'temporarily_unavailable', 'server_error', 'not_modified', 'unknown'],
];
const errorCodeType = `\n/** The codes of errors. Later versions may add some. */\nexport type ErrorCode = ${[...new Set(errorCodes)].map((code) => `'${code}'`).join(' | ')} | (string & {});\n`;

/** Writes `api.ts` into the folder: `paths`, `components`, and a type for each named schema. */
async function writeTypes(folder) {
  const document = JSON.parse(JSON.stringify(createOpenApi(everyRoute, '/')));
  const nodes = await openapiTypes(document, { rootTypes: true, rootTypesNoSchemaPrefix: true, defaultNonNullable: false, silent: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'api.ts'), `${header}${renamed(astToString(nodes))}${errorCodeType}`);
}

await writeTypes(resolve(process.argv[2]));
