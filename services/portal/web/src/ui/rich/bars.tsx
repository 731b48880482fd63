import { useId } from 'react';
import { formatNumber } from '../format.tsx';
import { ChartData } from './chart-data.tsx';

export interface Bar {
  label: string;
  value: number;
}

const maxTicks = 4;
/** A label below each seventh bar, counted from the last one. */
const labelledBars = 7;

/** Bars of one series over time, without the library of charts, which is larger than a whole page. */
export function Bars({ bars, label, unit }: { bars: readonly Bar[]; label: string; unit: string }) {
  const titleId = useId();
  const ticks = ticksOf(Math.max(...bars.map(({ value }) => value)));
  const top = ticks.at(-1) ?? 1;
  const share = (value: number) => `${(100 * value) / top}%`;
  return (
    <figure className="chart">
      <figcaption className="visually-hidden" id={titleId}>
        {label}
      </figcaption>
      <div className="bars" role="img" aria-labelledby={titleId}>
        {ticks.map((tick) => (
          <span key={tick} className="bars-tick" style={{ bottom: share(tick) }}>
            <span>{formatNumber(tick)}</span>
          </span>
        ))}
        <div className="bars-columns">
          {bars.map(({ label: name, value }, index) => (
            <span key={name} className="bars-column" title={`${name}: ${formatNumber(value)} ${unit}`}>
              <span className="bars-fill" style={{ height: share(value) }} />
              {(bars.length - 1 - index) % labelledBars === 0 && <span className="bars-label">{name}</span>}
            </span>
          ))}
        </div>
      </div>
      <ChartData rows={bars.map(({ label: day, value }) => ({ day, [unit]: value }))} />
    </figure>
  );
}

/** From 0 to at least the largest value, in steps of 1, 2 or 5 times a power of ten. */
function ticksOf(largest: number): number[] {
  const least = Math.max(1, largest) / maxTicks;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = Math.max(1, ([1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10) * power);
  return Array.from({ length: Math.max(1, Math.ceil(largest / step)) + 1 }, (_, index) => index * step);
}
