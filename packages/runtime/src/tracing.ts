import { type Context, context, propagation, type Span, type SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { BullMQOtel } from 'bullmq-otel';
import type { ProcessContext } from './process-context.ts';

const instrument = 'agent-service';

/** Spans of our own; without a configured exporter they cost next to nothing. */
export const tracer = trace.getTracer(instrument);

/** Runs the work inside a span and marks it failed when the work throws. */
export async function inSpan<T>(
  name: string,
  kind: SpanKind,
  parent: Context,
  attributes: Record<string, string>,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const span = tracer.startSpan(name, { kind, attributes }, parent);
  try {
    return await context.with(trace.setSpan(parent, span), () => work(span));
  } catch (cause) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw cause;
  } finally {
    span.end();
  }
}

/** The W3C headers of the current span, for whoever is called next. */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers;
}

/** The context that a caller's W3C headers describe. */
export function remoteContext(traceparent: string | undefined): Context {
  return traceparent ? propagation.extract(context.active(), { traceparent }) : context.active();
}

/** What BullMQ takes to carry the trace through a job. */
export const queueTelemetry = () => new BullMQOtel({ tracerName: instrument });

/** Exports spans by OTLP over HTTP. The SDK takes a quarter of a second to load, so only a configured process does. */
export async function startTracing(process: ProcessContext, endpoint: string | undefined): Promise<void> {
  if (!endpoint) return;
  const { startExporter } = await import('./tracing-sdk.ts');
  const stop = startExporter(process.name, endpoint);
  process.onStop('traces', stop);
}
