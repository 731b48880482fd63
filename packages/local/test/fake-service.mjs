// A service that keeps the contract of a process and shows what it was told: /readyz on OPS_PORT, its environment on its own port.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

const { HOST, PORT, GRPC_PORT, OPS_PORT, FAKE_FAILS, IDENTITY_ADDRESS } = process.env;
if (FAKE_FAILS) {
  console.error('the fake fails as it was told');
  process.exit(3);
}
if (process.argv.includes('--supervised')) await once(process, 'message');
const environment = JSON.stringify(process.env);
const port = PORT ?? GRPC_PORT;
const isWorker = port === undefined;
createServer((_request, response) => response.end(isWorker ? environment : 'ready')).listen(Number(OPS_PORT), HOST);
if (!isWorker) createServer((_request, response) => response.end(environment)).listen(Number(port), HOST);

/** A worker returns work slowly. */
async function stop() {
  if (isWorker) {
    await pause(300);
    const { status } = await fetch(IDENTITY_ADDRESS.replace('ipv4:', 'http://').split(',')[0]);
    console.log(`returned to identity: ${status}`);
  }
  process.exit(0);
}
process.send?.('started');
for (const event of ['SIGTERM', 'SIGINT', 'disconnect']) process.on(event, () => void stop());
