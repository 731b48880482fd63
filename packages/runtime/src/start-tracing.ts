import type { ProcessContext } from './process-context.ts';

/** Exports spans by OTLP over HTTP. The SDK takes a quarter of a second to load, so only a configured process does. */
export async function startTracing(process: ProcessContext, endpoint: string | undefined): Promise<void> {
  if (!endpoint) return;
  const { startExporter } = await import('./tracing-sdk.ts');
  process.onStop('traces', startExporter(process.name, endpoint));
}
