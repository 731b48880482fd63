import { fileURLToPath } from 'node:url';
import { loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

/** The services that the floor's halves talk with: the same messages as the product's, by the usual loader. */
export function loadServices<Name extends string>(file: string): Record<Name, ServiceClientConstructor> {
  const description = loadSync(file, {
    longs: String,
    enums: String,
    defaults: true,
    oneofs: true,
    includeDirs: [fileURLToPath(new URL('../../../proto', import.meta.url))],
  });
  const root = loadPackageDefinition(description) as unknown as { agentservice: { v1: Record<Name, ServiceClientConstructor> } };
  return root.agentservice.v1;
}
