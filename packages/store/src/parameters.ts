/** The parameters of a statement that is put together. */
export interface Parameters {
  readonly values: unknown[];
  /** Takes the value and answers with its placeholder. */
  add(value: unknown): string;
}

export function parameters(): Parameters {
  const values: unknown[] = [];
  return { values, add: (value) => `$${values.push(value)}` };
}
