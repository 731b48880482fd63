import { setting } from '@agent-service/runtime';
import { z } from 'zod';

/** Settings of every process that calls another. The first secret signs, all are accepted. */
export const clientSettings = {
  SERVICE_SECRET: setting
    .list()
    .refine(
      (secrets) => secrets.length > 0 && secrets.every((secret) => secret.length >= 32),
      'must be one or more secrets of at least 32 characters, separated by commas',
    ),
  GRPC_TLS_CA_FILE: z.string().optional(),
  GRPC_TLS_CERT_FILE: z.string().optional(),
  GRPC_TLS_KEY_FILE: z.string().optional(),
};

/** Settings of every process that serves gRPC. */
export const serverSettings = { ...clientSettings, GRPC_PORT: setting.port(50_051) };

const client = z.object(clientSettings);
export type ClientConfig = z.output<typeof client>;
const server = z.object(serverSettings);
export type ServerConfig = z.output<typeof server>;
