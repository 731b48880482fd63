import { type ComponentProps, lazy, memo, type ReactNode, Suspense, useId } from 'react';
import ReactMarkdown, { type Components } from 'react-markdown';
import rehypeSanitize, { defaultSchema } from 'rehype-sanitize';
import remarkGfm from 'remark-gfm';
import { CodeBlock } from '../copy.tsx';
import { isCostly } from './markdown-cost.ts';

const Chart = lazy(() => import('./chart.tsx'));

/** Pictures would load something from elsewhere, and inputs are of task lists only. */
const schema = {
  ...defaultSchema,
  // Ids are of footnotes only, and have a prefix of their answer.
  clobberPrefix: '',
  tagNames: (defaultSchema.tagNames ?? []).filter((name) => !['img', 'picture', 'source', 'details', 'summary'].includes(name)),
  attributes: { ...defaultSchema.attributes, code: [['className', /^language-[\w-]{1,40}$/]] as [string, RegExp][] },
};

/** An answer may have texts of several directions. */
const inOwnDirection = (Tag: 'p' | 'h1' | 'h2' | 'h3' | 'h4' | 'h5' | 'h6') =>
  function Directed({ children }: { children?: ReactNode }) {
    return <Tag dir="auto">{children}</Tag>;
  };

const components: Components = {
  a: ({ href, children }) => <AnswerLink href={href}>{children}</AnswerLink>,
  p: inOwnDirection('p'),
  h1: inOwnDirection('h1'),
  h2: inOwnDirection('h2'),
  h3: inOwnDirection('h3'),
  h4: inOwnDirection('h4'),
  h5: inOwnDirection('h5'),
  h6: inOwnDirection('h6'),
  table: ({ children }) => (
    <div className="table-scroll" tabIndex={0} role="region" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  pre: ({ children }) => <Fence>{children}</Fence>,
};

/** A link to a footnote stays on the page. One whose target was removed, as that of a script, is only its text. */
function AnswerLink({ href, children }: ComponentProps<'a'>) {
  if (!href) return children;
  if (href.startsWith('#')) return <a href={href}>{children}</a>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

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
  const id = useId();
  if (isCostly(text))
    return (
      <div className="prose plain" dir="auto">
        {text}
      </div>
    );
  return (
    <div className="prose" dir="auto">
      <ReactMarkdown
        remarkPlugins={[remarkGfm]}
        remarkRehypeOptions={{ clobberPrefix: `footnote-${id}-` }}
        rehypePlugins={[[rehypeSanitize, schema]]}
        components={components}
      >
        {text}
      </ReactMarkdown>
    </div>
  );
});
