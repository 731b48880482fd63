/** Whether Prefer asks not to wait (RFC 7240, section 4.1). */
export const prefersAsync = (prefer: string | undefined): boolean =>
  prefer?.split(',').some((preference) => preference.split(';')[0]?.trim().toLowerCase() === 'respond-async') ?? false;
