/** A storage of the browser, or undefined where the browser blocks it: then its name alone throws. */
export function storageOf(name: 'localStorage' | 'sessionStorage'): Storage | undefined {
  try {
    return window[name];
  } catch {
    return undefined;
  }
}
