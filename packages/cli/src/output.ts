import { ServiceError } from '@agent-service/contracts';

type Value = string | number | boolean | readonly unknown[] | { readonly [name: string]: unknown };

/** One line a field for people, one JSON object for machines. */
export function print(result: Record<string, Value>, asJson: boolean): void {
  const text = asJson ? JSON.stringify(result) : lines(result).join('\n');
  process.stdout.write(`${text}\n`);
}

function lines(result: object, prefix = ''): string[] {
  return Object.entries(result).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null ? lines(value, `${prefix}${name}.`) : [`${prefix}${name}: ${value}`],
  );
}

export function failureText(cause: unknown): string {
  if (cause instanceof ServiceError) return `${cause.code}: ${cause.message}${cause.param ? ` (${cause.param})` : ''}`;
  return cause instanceof Error ? cause.message : String(cause);
}
