import { type Context, context, propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';

const instrument = 'agent-service';
const nothing: Readonly<Record<string, string>> = Object.freeze({});

let recording = false;

/** Until this is said, spans are not even made: most systems run without a collector, and every call would pay. */
export function startRecording(): void {
  recording = true;
}

/** Whether this process exports traces; for libraries that bring a telemetry of their own. */
export const isRecording = (): boolean => recording;

/** Spans of our own. */
const tracer = trace.getTracer(instrument);

/** Runs the work inside a span and marks it failed when the work throws. */
export async function inSpan<T>(name: string, kind: SpanKind, parent: Context, work: (span?: Span) => Promise<T>): Promise<T> {
  if (!recording) return work();
  const span = tracer.startSpan(name, { kind }, parent);
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
export function traceHeaders(): Readonly<Record<string, string>> {
  if (!recording) return nothing;
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers;
}

/** The context that a caller's W3C headers describe. */
export function remoteContext(traceparent: string | undefined): Context {
  return recording && traceparent ? propagation.extract(context.active(), { traceparent }) : context.active();
}

/** Work on a request from outside, as a part of the trace that its caller began. */
export function inRequestSpan<T>(name: string, traceparent: string | undefined, work: () => Promise<T>): Promise<T> {
  return recording ? inSpan(name, SpanKind.SERVER, remoteContext(traceparent), work) : work();
}

/** Work on a job that somebody else ordered, as a part of the trace in which it was ordered. */
export function inJobSpan<T>(name: string, traceparent: string | undefined, work: () => Promise<T>): Promise<T> {
  return recording ? inSpan(name, SpanKind.CONSUMER, remoteContext(traceparent), work) : work();
}

/** A step of the present work that waits for somebody outside. */
export function inStepSpan<T>(name: string, work: () => Promise<T>): Promise<T> {
  return recording ? inSpan(name, SpanKind.CLIENT, context.active(), work) : work();
}
