/** The model tiers that agents are made for, the plainest first. */
export const tiers = ['Fast', 'Smart', 'Expert', 'Premium'] as const;

export type Tier = (typeof tiers)[number];
