import { ServiceError } from '@agent-service/contracts';
import { afterEach, expect, jest, test } from '@jest/globals';
import { type Connection, connect } from './connection.ts';
import { buildProgram } from './program.ts';

afterEach(() => {
  process.exitCode = undefined;
  jest.restoreAllMocks();
});

test('a service that does not answer costs the list its own messages only, and the command fails', async () => {
  const written: string[] = [];
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  const letter = { id: 'obx_1', topic: 'audit', organizationId: 'org_1', reason: 'refused', attempts: 1, bytes: '12' };
  const times = { createdAt: new Date().toISOString(), deadAt: new Date().toISOString() };
  const answering = { listDeadLetters: async () => ({ deadLetters: [{ ...letter, ...times }] }) };
  const away = { listDeadLetters: async () => Promise.reject(new ServiceError('unavailable')) };
  const outboxes = new Map(Object.entries({ identity: away, agents: answering }));
  await buildProgram({}, () => ({ outboxes, close: () => undefined }) as unknown as Connection).parseAsync(['--json', 'outbox', 'list'], {
    from: 'user',
  });
  expect(JSON.parse(written.join(''))).toMatchObject({
    dead_letters: [{ service: 'agents', id: 'obx_1' }],
    unread: [{ service: 'identity', failure: expect.stringMatching(/^unavailable: /) }],
  });
  expect(process.exitCode).toBe(1);
});

test('webhooks has an outbox and commands unless it is not enabled', () => {
  const env = {
    SERVICE_SECRET: 'x'.repeat(32),
    GRPC_ALLOW_PLAINTEXT: 'true',
    IDENTITY_ADDRESS: '127.0.0.1:1',
    WEBHOOKS_ADDRESS: '127.0.0.1:2',
  };
  const using = <T>(more: object, work: (connection: Connection) => T): T => {
    const connection = connect({ ...env, ...more });
    try {
      return work(connection);
    } finally {
      connection.close();
    }
  };
  const namesOf = ({ outboxes }: Connection) => [...outboxes.keys()];
  expect(using({}, namesOf)).toEqual(['identity', 'webhooks']);
  expect(using({ WEBHOOKS_ENABLED: 'false' }, namesOf)).toEqual(['identity']);
  const list = ({ webhooks }: Connection) => webhooks.listEndpoints;
  expect(using({}, list)).toEqual(expect.any(Function));
  for (const without of [{ WEBHOOKS_ENABLED: 'false' }, { WEBHOOKS_ADDRESS: undefined }])
    expect(() => using(without, list)).toThrow('Webhooks are not enabled here. Start the system with WEBHOOKS_ENABLED=true');
});
