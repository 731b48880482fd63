import { storageOf } from './storage.ts';

/** Inputs that are not sent, by the name of the form that they were typed in. They are JSON, which the form reads again. */
type Unsent = Record<string, unknown>;

const storageKey = 'agent-service-unsent';
const readers = new Map<string, () => unknown>();
let restored: Unsent = {};

/** Names a form; `read` returns undefined while it has nothing to send. The returned function ends it. */
export function watchUnsent(form: string, read: () => unknown): () => void {
  readers.set(form, read);
  return () => void (readers.get(form) === read && readers.delete(form));
}

/**
 * Stores the input of all forms for the next document of this tab, to be called when a session or a document ends by itself. It holds no reply of the service, and
 * no other user ever gets it.
 */
export function storeUnsent(owner: string): void {
  const current = [...readers].map(([form, read]) => [form, read()]).filter(([, value]) => value !== undefined);
  // A form that was not opened since the last sign-in or reload has not got its input back yet.
  const unsent = { ...restored, ...Object.fromEntries(current) };
  if (Object.keys(unsent).length > 0) storageOf('sessionStorage')?.setItem(storageKey, JSON.stringify({ owner, unsent }));
}

/** Restores the stored input of a user, and removes that of another user. */
export function restoreUnsent(owner: string): void {
  const storage = storageOf('sessionStorage');
  const stored = storage?.getItem(storageKey);
  if (!storage || !stored) return;
  storage.removeItem(storageKey);
  const { owner: storedBy, unsent } = JSON.parse(stored) as { owner: string; unsent: Unsent };
  if (storedBy === owner) restored = unsent;
}

/** The restored input of a form, once. */
export function takeUnsent(form: string): unknown {
  const { [form]: value, ...rest } = restored;
  restored = rest;
  return value;
}
