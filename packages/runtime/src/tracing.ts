import { type Attributes, type Context, context, propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';

const instrument = 'agent-service';
const nothing: Readonly<Record<string, string>> = Object.freeze({});

let recording = false;

/** Before this call no spans are created: most systems run without a collector, and each call would cost time. */
export function startRecording(): void {
  recording = true;
}

/** True if this process exports traces; for libraries with a telemetry of their own. */
export const isRecording = (): boolean => recording;

const tracer = trace.getTracer(instrument);

/** How the work of a span ended. */
export type SpanEnd<T> = { readonly result: T } | { readonly cause: unknown };

/** The attributes of a span, by the semantic conventions of OpenTelemetry, and its status. */
export interface SpanDescription {
  readonly attributes: Attributes;
  readonly isFailed: boolean;
  /** The attribute of a span that has failed, and of no other. */
  readonly errorType?: string | undefined;
}

type DescribeSpan<T> = (end: SpanEnd<T>) => SpanDescription;

/** Runs the work inside a span. Without a description the span has failed if the work throws. */
async function inSpan<T>(
  name: string,
  kind: SpanKind,
  parent: Context,
  work: () => Promise<T>,
  describe: DescribeSpan<T> = describeThrow,
): Promise<T> {
  const span = tracer.startSpan(name, { kind }, parent);
  const end: SpanEnd<T> = await context.with(trace.setSpan(parent, span), work).then(
    (result) => ({ result }),
    (cause: unknown) => ({ cause }),
  );
  endSpan(span, describe(end));
  if ('cause' in end) throw end.cause;
  return end.result;
}

const describeThrow = (end: SpanEnd<unknown>): SpanDescription => ({ attributes: {}, isFailed: 'cause' in end });

function endSpan(span: Span, { attributes, isFailed, errorType }: SpanDescription): void {
  span.setAttributes(attributes);
  if (isFailed && errorType !== undefined) span.setAttribute('error.type', errorType);
  if (isFailed) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

/** The W3C headers of the current span, to send with a call. */
export function traceHeaders(): Readonly<Record<string, string>> {
  if (!recording) return nothing;
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers;
}

/** The context that a caller's W3C headers describe. */
function remoteContext(traceparent: string | undefined): Context {
  return traceparent ? propagation.extract(context.active(), { traceparent }) : context.active();
}

/** Runs the work on a received request as a part of its caller's trace. The header is read only where traces are recorded. */
export function inRequestSpan<T>(
  name: string,
  readTraceparent: () => string | undefined,
  work: () => Promise<T>,
  describe?: DescribeSpan<T>,
): Promise<T> {
  return recording ? inSpan(name, SpanKind.SERVER, remoteContext(readTraceparent()), work, describe) : work();
}

/** Runs the work on a job as a part of the trace in which the job was added. */
export function inJobSpan<T>(name: string, traceparent: string | undefined, work: () => Promise<T>): Promise<T> {
  return recording ? inSpan(name, SpanKind.CONSUMER, remoteContext(traceparent), work) : work();
}

/** Runs a step that waits for an external system, as a span of its own. */
export function inStepSpan<T>(name: string, work: () => Promise<T>, describe?: DescribeSpan<T>): Promise<T> {
  return recording ? inSpan(name, SpanKind.CLIENT, context.active(), work, describe) : work();
}
