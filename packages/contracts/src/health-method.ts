import type { ServiceClientConstructor } from '@grpc/grpc-js';
import { loadPackageDefinition, type MethodDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { protoPath } from 'grpc-health-check';

const description = loadSync(protoPath, { enums: String, defaults: true });
const root = loadPackageDefinition(description) as unknown as { grpc: { health: { v1: { Health: ServiceClientConstructor } } } };

/** `grpc.health.v1.Health/Check`. */
export const healthMethod = root.grpc.health.v1.Health.service.Check as MethodDefinition<object, object>;
