import { ChevronLeft } from 'lucide-react';
import { type ReactNode, useEffect } from 'react';
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

/** A page with its heading and actions. Its title is the window's title. */
export function Page({ title, heading, description, back, actions, narrow, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} – Agent Service`;
  }, [title]);
  return (
    <main className={narrow ? 'page narrow' : 'page'} id="main" tabIndex={-1}>
      <div className="page-head">
        <div>
          {back}
          <h1 dir="auto">{heading ?? title}</h1>
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
