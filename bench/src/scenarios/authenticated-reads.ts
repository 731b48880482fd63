import { startChild } from '../child.ts';
import { load, type Measured } from '../load.ts';
import { median, type Scenario } from '../scenario.ts';
import { type BenchSystem, startBenchSystem } from '../system.ts';

const connections = 50;
const warmUpSeconds = 3;
const seconds = 4;
const rounds = 5;
const listedAgents = 20;

interface Read {
  readonly name: string;
  readonly about: string;
  /** The path that is read, which the floor serves as well. */
  readonly prepare: (bench: BenchSystem) => Promise<string>;
}

/** The cost of authentication, limits, validation, logs, metrics and the error envelope on top of the bare libraries. */
const compareRead = ({ name, about, prepare }: Read): Scenario => ({
  name,
  about: `${about}, ${connections} connections, against bare Express + gRPC + the same query`,
  async run(say) {
    const bench = await startBenchSystem();
    const headers = { authorization: `Bearer ${bench.key}` };
    const path = await prepare(bench);
    const database = new URL(bench.system.endpoints['postgres'] ?? '');
    database.pathname = '/agent_service';
    const server = await startChild('floor/server.ts', { DATABASE_URL: database.href, ORGANIZATION: bench.organizationId });
    const gateway = await startChild('floor/gateway.ts', { SERVER: `127.0.0.1:${server.port}` });
    try {
      const ours = (length: number) => load({ url: `${bench.system.url}${path}`, headers, connections, seconds: length });
      const floor = (length: number) => load({ url: `http://127.0.0.1:${gateway.port}${path}`, connections, seconds: length });
      await ours(warmUpSeconds);
      await floor(warmUpSeconds);
      const measured: { ours: Measured; floor: Measured }[] = [];
      for (let round = 1; round <= rounds; round += 1) {
        const pair = { ours: await ours(seconds), floor: await floor(seconds) };
        measured.push(pair);
        say(
          `round ${round}: ${(pair.ours.perSecond / pair.floor.perSecond).toFixed(3)} of the floor's requests a second, p99 ${(pair.ours.p99 / pair.floor.p99).toFixed(2)} times the floor's`,
        );
      }
      const throughput = measured.map((pair) => pair.ours.perSecond / pair.floor.perSecond);
      const p99 = measured.map((pair) => pair.ours.p99 / pair.floor.p99);
      return {
        promises: [
          { name: 'requests a second, of the floor', measured: median(throughput), atLeast: 0.9 },
          { name: 'p99, times the floor', measured: median(p99), atMost: 1.5 },
        ],
        figures: { connections, rounds, throughput, p99 },
      };
    } finally {
      await gateway.stop();
      await server.stop();
      await bench.stop();
    }
  },
});

async function request<Data>({ system, key }: BenchSystem, path: string, body?: object): Promise<Data> {
  const response = await fetch(`${system.url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { data: Data }).data;
}

export const authenticatedGet = compareRead({
  name: 'authenticated-get',
  about: 'GET of one user through gateway, identity and one query',
  async prepare(bench) {
    const [user] = await request<{ id: string }[]>(bench, '/v1/users?limit=1');
    return `/v1/users/${user?.id}`;
  },
});

export const authenticatedList = compareRead({
  name: 'authenticated-list',
  about: `GET of a page of ${listedAgents} agents through gateway, agents and one query`,
  async prepare(bench) {
    for (let agent = 1; agent <= listedAgents; agent += 1) {
      const definition = { name: `Agent ${agent}`, system_prompt: 'Answer shortly.', data_scope: { tables: [] } };
      await request(bench, '/v1/agents', { ...definition, description: 'Answers questions about the figures of the last month.' });
    }
    return `/v1/agents?limit=${listedAgents}`;
  },
});
