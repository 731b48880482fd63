import { Skeleton } from './feedback.tsx';
import { formatNumber } from './format.tsx';

/** A number with its name. Its space is there before the number is. */
export function Figure({ label, value, note }: { label: string; value: number | undefined; note: string }) {
  return (
    <div className="figure">
      <span className="muted">{label}</span>
      <span className="figure-value">{value === undefined ? <Skeleton width="5rem" height="1.25rem" /> : formatNumber(value)}</span>
      <span className="muted small">{note}</span>
    </div>
  );
}
