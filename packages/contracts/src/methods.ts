/** The options of a method in its proto. */
interface Declared {
  options?: { idempotency_level: string };
}

const levelOf = ({ options }: Declared): string => options?.idempotency_level ?? 'IDEMPOTENCY_UNKNOWN';

/** Changes nothing. */
export const isRead = (method: object): boolean => levelOf(method) === 'NO_SIDE_EFFECTS';

/** May be sent again without asking: it changes nothing, or the same as the first time. */
export const isRepeatable = (method: object): boolean => isRead(method) || levelOf(method) === 'IDEMPOTENT';

/** `GetUser` in the proto is `getUser` in code. */
export const uncapitalize = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);
