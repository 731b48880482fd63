/**
 * A gateway may keep identity's answer for one second, counted from before it asked. Whoever waits this long after a
 * revocation has committed can promise that no gateway accepts the credential any more.
 */
export const revocationSettlesMs = 1_200;

/** A revocation seen this long after it was written can be trusted to have committed long ago. */
const longestCommitMs = 30_000;

/** How long to wait before answering that a credential revoked that long ago is dead everywhere. */
export const revocationWaitMs = (revokedForMs: number): number => (revokedForMs > longestCommitMs ? 0 : revocationSettlesMs);
