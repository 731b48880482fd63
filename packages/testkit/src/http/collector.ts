import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

interface CollectedSpan {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  /** Attributes, events and status, as JSON. */
  details: string;
}

/** An OpenTelemetry collector that only remembers. */
export interface SpanCollector {
  /** As OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  stop(): Promise<void>;
}

interface ExportedSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  attributes?: object[];
  events?: object[];
  status?: object;
}

interface Export {
  resourceSpans: {
    resource: { attributes: { key: string; value: { stringValue?: string } }[] };
    scopeSpans: { spans: ExportedSpan[] }[];
  }[];
}

export async function spanCollector(): Promise<SpanCollector> {
  const spans: CollectedSpan[] = [];
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      spans.push(...spansOf(body as Export));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

const spansOf = ({ resourceSpans }: Export): CollectedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? '';
    const own = scopeSpans.flatMap((scope) => scope.spans);
    return own.map(({ name, traceId, spanId, parentSpanId = '', attributes, events, status }) => {
      const details = JSON.stringify({ attributes, events, status });
      return { service, name, traceId, spanId, parentSpanId, details };
    });
  });
