const words =
  /Connection is closed|Command timed out|max retries per request|Failed to refresh slots|None of startup nodes|CLUSTERDOWN|LOADING|READONLY|UNBLOCKED|Too many Cluster redirections|isn't ready|Stream isn't writeable/i;

/** Whether this says only that Redis is away, which passes. */
export function isOutage(cause: Error): boolean {
  return 'syscall' in cause || words.test(cause.message);
}
