import { useSyncExternalStore } from 'react';
import { storageOf } from '../api/storage.ts';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const storageKey = 'agent-service-theme';
const listeners = new Set<() => void>();

/** The choice in this document, where the browser stores none. */
let choice: Theme = 'system';

function readTheme(): Theme {
  const storage = storageOf('localStorage');
  if (!storage) return choice;
  const stored = storage.getItem(storageKey);
  return themes.find((theme) => theme === stored) ?? 'system';
}

/** The tokens are written with light-dark(), which follows the color-scheme of the root. */
export function applyTheme() {
  const theme = readTheme();
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function setTheme(theme: Theme) {
  choice = theme;
  if (theme === 'system') storageOf('localStorage')?.removeItem(storageKey);
  else storageOf('localStorage')?.setItem(storageKey, theme);
  applyTheme();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export const useTheme = (): Theme => useSyncExternalStore(subscribe, readTheme);
