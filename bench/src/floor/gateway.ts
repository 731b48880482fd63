import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { credentials, loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import express from 'express';

/** The floor's first half: bare Express in front of a bare gRPC client. No authentication, limit, validation, log or header. */
const description = loadSync('agentservice/v1/identity.proto', {
  longs: String,
  enums: String,
  defaults: true,
  oneofs: true,
  includeDirs: [fileURLToPath(new URL('../../../proto', import.meta.url))],
});
const root = loadPackageDefinition(description) as unknown as { agentservice: { v1: { IdentityService: ServiceClientConstructor } } };
const client = new root.agentservice.v1.IdentityService(process.env['SERVER'] ?? '', credentials.createInsecure()) as unknown as {
  GetUser(request: object, done: (error: Error | null, value: { user: object }) => void): void;
};

const app = express();
app.get('/v1/users/:id', (request, response, next) => {
  client.GetUser({ userId: request.params.id }, (error, answer) => (error ? next(error) : response.json({ data: answer.user })));
});
const server = app.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('disconnect', () => process.exit(0));
