import { type ComponentProps, lazy, memo, Suspense } from 'react';
import ReactMarkdown, { type Components } from 'react-markdown';
import rehypeSanitize, { defaultSchema } from 'rehype-sanitize';
import remarkGfm from 'remark-gfm';
import { CodeBlock } from '../button.tsx';
import { isCostly } from './markdown-cost.ts';

const Chart = lazy(() => import('./chart.tsx'));

/** Pictures would load something from elsewhere, and inputs are of task lists only. */
const schema = {
  ...defaultSchema,
  tagNames: (defaultSchema.tagNames ?? []).filter((name) => !['img', 'picture', 'source', 'details', 'summary'].includes(name)),
  attributes: { ...defaultSchema.attributes, code: [['className', /^language-[\w-]{1,40}$/]] as [string, RegExp][] },
};

const components: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  ),
  table: ({ children }) => (
    <div className="table-scroll" tabIndex={0} role="region" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  pre: ({ children }) => <Fence>{children}</Fence>,
};

function Fence({ children }: ComponentProps<'pre'>) {
  const { className = '', children: text = '' } =
    (children as { props?: { className?: string; children?: unknown } } | undefined)?.props ?? {};
  const language = /language-([\w-]+)/.exec(className)?.[1] ?? '';
  const code = String(text).replace(/\n$/, '');
  if (language !== 'vega-lite') return <CodeBlock code={code} label={language || 'Code'} />;
  const spec = parseSpec(code);
  if (spec === undefined) return <div className="chart chart-pending">Drawing a chart</div>;
  return (
    <Suspense fallback={<div className="chart chart-pending">Drawing a chart</div>}>
      <Chart spec={spec} />
    </Suspense>
  );
}

const parsedSpecs = new Map<string, unknown>();
const maxParsed = 50;

/** The same object for the same text, so that a chart is not drawn again; undefined while the text is incomplete. */
function parseSpec(code: string): unknown {
  if (parsedSpecs.has(code)) return parsedSpecs.get(code);
  try {
    const spec: unknown = JSON.parse(code);
    if (parsedSpecs.size >= maxParsed) parsedSpecs.clear();
    parsedSpecs.set(code, spec);
    return spec;
  } catch {
    return undefined;
  }
}

/** Markdown of a model: no raw HTML, no pictures, and links that say nothing to their targets. A text that is costly to parse is shown as it is. */
// biome-ignore lint/style/noDefaultExport: React.lazy loads the default export.
export default memo(function Markdown({ text }: { text: string }) {
  if (isCostly(text))
    return (
      <div className="prose plain" dir="auto">
        {text}
      </div>
    );
  return (
    <div className="prose" dir="auto">
      <ReactMarkdown remarkPlugins={[remarkGfm]} rehypePlugins={[[rehypeSanitize, schema]]} components={components}>
        {text}
      </ReactMarkdown>
    </div>
  );
});
