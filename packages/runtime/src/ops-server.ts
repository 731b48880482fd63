import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Health } from './health.ts';
import type { Metrics } from './metrics.ts';

/** What operators and probes ask of every process, on a port of its own: /livez, /readyz, /metrics. */
export function createOpsServer(health: Health, metrics: Metrics): Server {
  return createServer((request, response) => {
    answer(request, response, health, metrics).catch((cause: unknown) => {
      send(response, 500, 'text/plain', cause instanceof Error ? cause.message : 'failed');
    });
  });
}

async function answer(request: IncomingMessage, response: ServerResponse, health: Health, metrics: Metrics): Promise<void> {
  switch (request.url?.split('?')[0]) {
    case '/livez':
      return send(response, 200, 'application/json', '{"status":"alive"}');
    case '/readyz': {
      const report = await health.report();
      return send(response, report.ready ? 200 : 503, 'application/json', JSON.stringify(report));
    }
    case '/metrics':
      return send(response, 200, metrics.registry.contentType, await metrics.registry.metrics());
    default:
      return send(response, 404, 'text/plain', 'not found');
  }
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
}
