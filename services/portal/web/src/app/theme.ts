import { useSyncExternalStore } from 'react';
import { storageOf } from '../api/storage.ts';
import { createListeners } from '../ui/listeners.ts';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const storageKey = 'agent-service-theme';
const listeners = createListeners();

/** The choice in this document, where the browser does not store it. */
let choice: Theme | undefined;

function readTheme(): Theme {
  const stored = choice ?? storageOf('localStorage')?.getItem(storageKey);
  return themes.find((theme) => theme === stored) ?? 'system';
}

/** The tokens are written with light-dark(), which follows the color-scheme of the root. */
export function applyTheme() {
  const theme = readTheme();
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** False where the browser blocks its storage, or where that is full. */
function storeTheme(theme: Theme): boolean {
  const storage = storageOf('localStorage');
  try {
    if (theme === 'system') storage?.removeItem(storageKey);
    else storage?.setItem(storageKey, theme);
    return storage !== undefined;
  } catch {
    return false;
  }
}

export function setTheme(theme: Theme) {
  choice = storeTheme(theme) ? undefined : theme;
  applyTheme();
  listeners.notify();
}

export const useTheme = (): Theme => useSyncExternalStore(listeners.subscribe, readTheme);
