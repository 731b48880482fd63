import { SearchX } from 'lucide-react';
import { ButtonLink } from '../ui/button.tsx';
import { Empty } from '../ui/feedback.tsx';
import { usePageStart } from '../ui/page.tsx';

const title = 'This page does not exist';

export function Missing() {
  usePageStart(title);
  return (
    <main className="entrance" id="main" tabIndex={-1}>
      <Empty
        isPage
        icon={SearchX}
        title={title}
        actions={
          <ButtonLink to="/$environment" params={{ environment: 'live' }}>
            Go to the home page
          </ButtonLink>
        }
      >
        The address may be mistyped, or what was here has been deleted.
      </Empty>
    </main>
  );
}
