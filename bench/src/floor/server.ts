import { fileURLToPath } from 'node:url';
import { loadPackageDefinition, Server, ServerCredentials, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { Pool } from 'pg';

/** The floor's second half: the same message over gRPC and the same query, with nothing around them. */
const description = loadSync('agentservice/v1/identity.proto', {
  longs: String,
  enums: String,
  defaults: true,
  oneofs: true,
  includeDirs: [fileURLToPath(new URL('../../../proto', import.meta.url))],
});
const root = loadPackageDefinition(description) as unknown as { agentservice: { v1: { IdentityService: ServiceClientConstructor } } };
const pool = new Pool({ connectionString: process.env['DATABASE_URL'], max: 10, options: '-c timezone=UTC' });
const text = 'select id, name, email, role, status, created_at from identity.users where organization_id = $1 and id = $2';

const server = new Server();
server.addService(root.agentservice.v1.IdentityService.service, {
  GetUser: (call: { request: { userId: string } }, callback: (error: Error | null, value?: object) => void) => {
    pool.query({ name: 'user', text, values: [process.env['ORGANIZATION'], call.request.userId] }).then(({ rows: [user] }) => {
      callback(null, { user: { ...user, createdAt: user.created_at.toISOString() } });
    }, callback);
  },
});
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  process.send?.({ port });
});
process.on('disconnect', () => process.exit(0));
