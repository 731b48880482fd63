// A service that keeps the contract of a process and shows what it was told: /readyz on OPS_PORT, its environment on its own port.
import { createServer } from 'node:http';

const { HOST, PORT, GRPC_PORT, OPS_PORT, FAKE_FAILS } = process.env;
if (FAKE_FAILS) {
  console.error('the fake fails as it was told');
  process.exit(3);
}
createServer((_request, response) => response.end('ready')).listen(Number(OPS_PORT), HOST);
createServer((_request, response) => response.end(JSON.stringify(process.env))).listen(Number(PORT ?? GRPC_PORT), HOST);
for (const event of ['SIGTERM', 'SIGINT', 'disconnect']) process.on(event, () => process.exit(0));
