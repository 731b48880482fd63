/** Shares of the wordings: the least that are right, and the most that have a wrong figure. Days of the calendar move them a little. */
export const floors = {
  tuned: { right: 0.9, wrong: 0.005 },
  hardening: { right: 0.8, wrong: 0 },
  untouched: { right: 0.85, wrong: 0.01 },
} as const;
