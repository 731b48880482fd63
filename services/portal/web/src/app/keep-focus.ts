const parts = 'section, nav, fieldset, [tabindex]';

function* partsAround(element: HTMLElement): Generator<HTMLElement> {
  for (let part = element.parentElement; part; part = part.parentElement) if (part.matches(parts)) yield part;
}

/** Gives the focus of a control that is removed to the nearest part of the page that stays: a keyboard would begin at the top of the page again. */
export function keepFocus(): void {
  let focused: HTMLElement | undefined;
  let around: HTMLElement[] = [];
  document.addEventListener('focusin', ({ target }) => {
    if (!(target instanceof HTMLElement)) return;
    focused = target;
    around = [...partsAround(target)];
  });
  const observer = new MutationObserver(() => {
    if (document.activeElement !== document.body || !focused || focused.isConnected) return;
    const part = around.find(({ isConnected }) => isConnected);
    if (part && !part.hasAttribute('tabindex')) part.tabIndex = -1;
    part?.focus({ preventScroll: true });
  });
  observer.observe(document.body, { childList: true, subtree: true });
}
