import type { AddressInfo } from 'node:net';
import { credentials } from '@grpc/grpc-js';
import express from 'express';
import { loadServices } from './protos.ts';

type Method<Response> = (request: object, done: (error: Error | null, value: Response) => void) => void;

/** The floor's first half: bare Express in front of bare gRPC clients. No authentication, limit, validation, log or header. */
const { IdentityService } = loadServices<'IdentityService'>('agentservice/v1/identity.proto');
const { AgentsService } = loadServices<'AgentsService'>('agentservice/v1/agents.proto');
const address = process.env['SERVER'] ?? '';
const identity = new IdentityService(address, credentials.createInsecure()) as unknown as { GetUser: Method<{ user: object }> };
const agents = new AgentsService(address, credentials.createInsecure()) as unknown as {
  ListAgents: Method<{ agents: object[]; page: object }>;
};

const app = express();
app.get('/v1/users/:id', (request, response, next) => {
  identity.GetUser({ userId: request.params.id }, (error, answer) => (error ? next(error) : response.json({ data: answer.user })));
});
app.get('/v1/agents', (request, response, next) => {
  agents.ListAgents({ page: { limit: Number(request.query['limit']) } }, (error, answer) =>
    error ? next(error) : response.json({ data: answer.agents, meta: answer.page }),
  );
});
const server = app.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('disconnect', () => process.exit(0));
