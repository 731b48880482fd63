import { type ReactNode, useEffect } from 'react';

/** A page of a user who is not signed in. */
export function Entrance({ title, description, children }: { title: string; description?: ReactNode; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} – Agent Service`;
  }, [title]);
  return (
    <main className="entrance">
      <div className="entrance-card">
        <div className="brand">
          <img className="brand-mark" src="/icon.svg" alt="" />
          Agent Service
        </div>
        <div>
          <h1>{title}</h1>
          {description && <p className="muted wrap">{description}</p>}
        </div>
        {children}
      </div>
    </main>
  );
}

/** Only a path of this app: a link elsewhere could pretend to be the portal. */
export const safePath = (path: string | undefined): string => (path && /^\/(live|test)(\/|$|\?)/.test(path) ? path : '/live');
