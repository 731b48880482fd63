import { useEffect, useId, useMemo, useRef, useState } from 'react';
import { type Config, loader as createLoader, parse, View } from 'vega';
import { expressionInterpreter } from 'vega-interpreter';
import { compile, type TopLevelSpec } from 'vega-lite';
import { ChartData } from './chart-data.tsx';
import { callsOwnFunctionsOnly, safeSpec, withLocalTimes } from './chart-spec.ts';

const height = 260;
const colors = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((index) => `var(--chart-${index})`);
const text = {
  labelColor: 'var(--muted)',
  titleColor: 'var(--muted)',
  labelFontSize: 11,
  titleFontSize: 11,
  titleFontWeight: 500,
} as const;

/** The width of an entry of a legend, with its symbol and the space around. */
const legendColumn = 130;

const config: Config = {
  background: 'transparent',
  font: 'inherit',
  view: { stroke: null },
  range: { category: colors, ordinal: colors },
  mark: { color: colors[0] },
  bar: { cornerRadiusEnd: 3 },
  arc: { stroke: 'var(--raised)' },
  line: { strokeWidth: 2 },
  text: { fill: 'var(--text)' },
  axis: {
    ...text,
    domainColor: 'var(--line)',
    tickColor: 'var(--line)',
    gridColor: 'var(--line)',
    labelLimit: 140,
    labelOverlap: true,
    labelSeparation: 8,
  },
  scale: { bandPaddingInner: 0.35, bandPaddingOuter: 0.2 },
  legend: { ...text, orient: 'bottom', symbolType: 'circle', columnPadding: 20, labelLimit: legendColumn - 34 },
  title: { color: 'var(--text)', fontSize: 13, fontWeight: 600, anchor: 'start', offset: 12 },
} as Config;

/** Refuses everything: a chart shows the rows of its specification and loads nothing. */
function lockedLoader() {
  const loader = createLoader();
  const refuse = () => Promise.reject(new Error('A chart loads nothing.'));
  return Object.assign(loader, { load: refuse, sanitize: refuse, http: refuse, file: refuse });
}

/** Draws a Vega-Lite specification that may come from anywhere. Expressions of the library itself run interpreted, without eval. */
// biome-ignore lint/style/noDefaultExport: React.lazy loads the default export.
export default function Chart({ spec, label }: { spec: unknown; label?: string }) {
  const frame = useRef<HTMLDivElement>(null);
  const titleId = useId();
  const safe = useMemo(() => safeSpec(spec), [spec]);
  const [failed, setFailed] = useState<unknown>();
  const title = label ?? titleOf(spec);
  useEffect(() => {
    const element = frame.current;
    if (!element || !safe) return;
    const fail = () => setFailed(safe);
    let view: View;
    try {
      view = draw(element, safe, fail);
    } catch {
      fail();
      return;
    }
    const observer = new ResizeObserver(() => void view.width(widthOf(element)).runAsync());
    observer.observe(element);
    void view.runAsync();
    return () => {
      observer.disconnect();
      view.finalize();
    };
  }, [safe]);
  if (!safe || failed === safe) return <p className="muted small">This chart cannot be drawn.</p>;
  return (
    <figure className="chart">
      <figcaption className="visually-hidden" id={titleId}>
        {title}
      </figcaption>
      <div ref={frame} className="chart-frame" role="img" aria-labelledby={titleId} style={{ minHeight: height }} />
      <ChartData rows={safe.rows} />
    </figure>
  );
}

/** More labels than these would touch each other, and are slanted. */
const maxLevelLabels = 8;

const widthOf = (element: HTMLElement) => Math.max(160, element.clientWidth);

function draw(element: HTMLElement, safe: NonNullable<ReturnType<typeof safeSpec>>, onFailure: () => void): View {
  const { spec, rows } = withLocalTimes(safe);
  const sized = { ...spec, data: { values: rows }, width: widthOf(element), height, autosize: { type: 'fit-x', contains: 'padding' } };
  const axis = { axisX: { labelAngle: rows.length > maxLevelLabels ? -40 : 0 } };
  // All entries in one row would be wider than the chart, which then cuts them off.
  const legend = { ...config.legend, columns: Math.max(1, Math.floor(sized.width / legendColumn)) };
  const compiled = compile(sized as unknown as TopLevelSpec, { logger: silent as never, config: { ...config, ...axis, legend } as never });
  // With `ast` the parser keeps expressions as trees for the interpreter.
  const runtime = parse(compiled.spec, undefined, { ast: true } as never);
  if (!callsOwnFunctionsOnly(runtime)) throw new Error('The specification holds an expression.');
  const view = new View(runtime, {
    expr: expressionInterpreter,
    loader: lockedLoader() as never,
    renderer: 'svg',
    hover: false,
    // The view never rejects: its logger gets the failures of its evaluation and of its renderer.
    logger: { ...silent, error: onFailure } as never,
  } as ConstructorParameters<typeof View>[1]);
  return view.initialize(element);
}

const ignore = () => silent;
const silent = { warn: ignore, info: ignore, debug: ignore, error: ignore, level: () => 0 };

function titleOf(spec: unknown): string {
  const { title } = (spec ?? {}) as { title?: unknown };
  if (typeof title === 'string') return title;
  const inner = (title as { text?: unknown } | undefined)?.text;
  return typeof inner === 'string' ? inner : 'Chart';
}
