import { lazy, Suspense } from 'react';

const Chart = lazy(() => import('./chart.tsx'));

/** A chart whose library is loaded when the first one is shown; its space is there from the beginning. */
export function LazyChart({ spec, label }: { spec: unknown; label: string }) {
  return (
    <Suspense fallback={<ChartSpace />}>
      <Chart spec={spec} label={label} />
    </Suspense>
  );
}

export function ChartSpace() {
  return <div className="chart chart-pending" aria-hidden="true" />;
}
