import { useRouterState } from '@tanstack/react-router';
import { ChevronLeft } from 'lucide-react';
import { type ReactNode, useEffect, useId } from 'react';
import { Failure } from './feedback.tsx';

interface PageProps {
  title: string;
  /** The heading where it is not the title, as a skeleton. */
  heading?: ReactNode;
  description?: ReactNode;
  back?: ReactNode;
  actions?: ReactNode;
  narrow?: boolean;
  children: ReactNode;
}

/** The page that was shown last. */
let lastPage: string | undefined;
/** True until the user goes to a different page than the one that the document was opened with. */
let isOpening = true;

/** The same page of the other environment is no different one. */
const pageOf = (pathname: string) => pathname.split('/').slice(2).join('/');

/** Shows the title as the window's, and gives a page that the user went to the focus, so that a screen reader says its name. */
export function usePageStart(title: string): void {
  useEffect(() => {
    document.title = `${title} – Agent Service`;
  }, [title]);
  const current = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation && pageOf(resolvedLocation.pathname) });
  useEffect(() => {
    if (current === undefined) return;
    const isSame = current === (lastPage ?? current);
    lastPage = current;
    isOpening &&= isSame;
    const { activeElement: focused, body } = document;
    if (isOpening || (isSame && focused !== body) || focused?.closest('#main, [role="dialog"]')) return;
    document.getElementById('main')?.focus({ preventScroll: true });
  }, [current]);
}

/** A page with its heading and actions. Its title is the window's title. */
export function Page({ title, heading, description, back, actions, narrow, children }: PageProps) {
  usePageStart(title);
  const headingId = useId();
  return (
    <main className={narrow ? 'page narrow' : 'page'} id="main" tabIndex={-1} aria-labelledby={headingId}>
      <div className="page-head">
        <div>
          {back}
          <h1 dir="auto" id={headingId}>
            {heading ?? title}
          </h1>
          {description && <p dir="auto">{description}</p>}
        </div>
        {actions && <div className="row wraps">{actions}</div>}
      </div>
      {children}
    </main>
  );
}

/** A page whose subject could not be read. */
export function FailedPage({ title, cause, onRetry }: { title: string; cause: unknown; onRetry: () => void }) {
  return (
    <Page title={title}>
      <div className="table-frame">
        <Failure cause={cause} onRetry={onRetry} />
      </div>
    </Page>
  );
}

/** A term and its value, as an item of a list with the class `facts`. */
export function Fact({ label, dir, children }: { label: string; dir?: 'auto'; children: ReactNode }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd dir={dir}>{children}</dd>
    </div>
  );
}

export function BackIcon() {
  return <ChevronLeft size={14} aria-hidden="true" />;
}

interface SectionProps {
  title: string;
  description?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

export function Section({ title, description, actions, children }: SectionProps) {
  return (
    <section className="section" aria-label={title}>
      <div className="section-head">
        <div>
          <h2>{title}</h2>
          {description && <p className="muted small">{description}</p>}
        </div>
        {actions && <div className="row wraps">{actions}</div>}
      </div>
      {children}
    </section>
  );
}
