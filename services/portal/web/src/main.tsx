import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api/query-client.ts';
import { keepFocus } from './app/keep-focus.ts';
import { applyTheme } from './app/theme.ts';
import { router } from './router.tsx';
import '@fontsource-variable/inter';
import './styles/tokens.css';
import './styles/base.css';
import './styles/controls.css';
import './styles/overlays.css';
import './styles/shell.css';
import './styles/lists.css';
import './styles/pages.css';
import './styles/chat.css';
import './styles/modes.css';

applyTheme();
keepFocus();

// The browser may bring a page back as it was left, by a user whose session has ended since.
window.addEventListener('pageshow', ({ persisted }) => {
  if (persisted) location.reload();
});

// A tooltip can be dismissed while its button keeps the focus.
document.addEventListener('keydown', ({ key, target }) => {
  if (key === 'Escape' && target instanceof HTMLElement) target.dataset.dismissed = '';
});
document.addEventListener('focusout', ({ target }) => {
  if (target instanceof HTMLElement) delete target.dataset.dismissed;
});

// A text that does not fit shows the whole of itself under the pointer.
document.addEventListener('pointerover', ({ target }) => {
  const text = target instanceof Element ? target.closest<HTMLElement>('.truncate') : null;
  if (!text || (text.title && text.dataset.cut === undefined)) return;
  text.dataset.cut = '';
  text.title = text.scrollWidth > text.clientWidth ? text.textContent : '';
});

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no element with the id root');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
