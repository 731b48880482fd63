import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TraceSampler } from './config.ts';
import { reasonOf } from './failures.ts';
import type { Logger } from './log.ts';
import { startRecording } from './tracing.ts';

export interface TraceSettings {
  readonly endpoint: string;
  readonly sampler?: TraceSampler | undefined;
  /** The share of traces that a sampler by ratio keeps. */
  readonly share?: number | undefined;
}

type ExportLogger = Pick<Logger, 'warn' | 'info'>;

/** Installs the SDK for this process and returns the function that flushes and stops it. */
export function startExporter(service: string, settings: TraceSettings, logger: ExportLogger): () => Promise<void> {
  const url = `${settings.endpoint.replace(/\/$/, '')}/v1/traces`;
  const own = resourceFromAttributes({ 'service.name': service, 'service.namespace': 'agent-service' });
  const exporter = logChanges(new OTLPTraceExporter({ url }), logger);
  const provider = new TracerProvider({
    // OTEL_RESOURCE_ATTRIBUTES, as a name of the deployment.
    resource: detectResources({ detectors: [envDetector] }).merge(own),
    sampler: samplers[settings.sampler ?? 'parentbased_always_on'](settings.share ?? 1),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  startRecording();
  return () => provider.shutdown();
}

const samplers: Readonly<Record<TraceSampler, (share: number) => Sampler>> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (share) => new TraceIdRatioBasedSampler(share),
  parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
  parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
  parentbased_traceidratio: (share) => new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(share) }),
};

/** The SDK drops what a collector does not take and says nothing: the log says once that it happens, and once that it has ended. */
function logChanges(exporter: SpanExporter, logger: ExportLogger): SpanExporter {
  let isTaken = true;
  return {
    shutdown: () => exporter.shutdown(),
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const wasTaken = isTaken;
        isTaken = result.code === ExportResultCode.SUCCESS;
        if (wasTaken && !isTaken) logger.warn({ event: 'traces_not_taken', reason: reasonOf(result.error) });
        if (!wasTaken && isTaken) logger.info({ event: 'traces_taken' });
        done(result);
      }),
  };
}
