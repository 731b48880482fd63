import { Server, ServerCredentials } from '@grpc/grpc-js';
import { Pool } from 'pg';
import { loadServices } from './protos.ts';

/** The floor's second half: the same messages over gRPC and the same queries, with nothing around them. */
const { IdentityService } = loadServices<'IdentityService'>('agentservice/v1/identity.proto');
const { AgentsService } = loadServices<'AgentsService'>('agentservice/v1/agents.proto');
const organization = process.env['ORGANIZATION'];
const pool = new Pool({ connectionString: process.env['DATABASE_URL'], max: 10, options: '-c timezone=UTC' });

type Callback = (error: Error | null, value?: object) => void;

const userText = 'select id, name, email, role, status, created_at from identity.users where organization_id = $1 and id = $2';

function getUser({ request: { userId } }: { request: { userId: string } }, callback: Callback): void {
  pool.query({ name: 'user', text: userText, values: [organization, userId] }).then(({ rows: [user] }) => {
    callback(null, { user: { ...user, createdAt: user.created_at.toISOString() } });
  }, callback);
}

const listText = `
  select counted.total, page.* from (
    select (select coalesce(sum(count), 0)::bigint from agents.agent_counts where organization_id = $1 and environment = 'live') as total
  ) as counted left join (
    select id, name, description, category, status, model, created_at, updated_at from agents.agents
    where organization_id collate "C" = $1 and environment = 'live' order by created_at desc, id desc limit $2::integer + 1) as page on true
  order by page.created_at desc, page.id desc`;

function listAgents({ request: { page } }: { request: { page: { limit: number } } }, callback: Callback): void {
  pool.query({ name: 'agents', text: listText, values: [organization, page.limit] }).then(({ rows }) => {
    const agents = rows.slice(0, page.limit).map(({ total: _, created_at, updated_at, ...agent }) => ({
      ...agent,
      createdAt: created_at.toISOString(),
      updatedAt: updated_at.toISOString(),
    }));
    callback(null, { agents, page: { total: rows[0].total, nextCursor: '' } });
  }, callback);
}

const server = new Server();
server.addService(IdentityService.service, { GetUser: getUser });
server.addService(AgentsService.service, { ListAgents: listAgents });
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  process.send?.({ port });
});
process.on('disconnect', () => process.exit(0));
