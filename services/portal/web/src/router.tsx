import {
  createRootRoute,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  lazyRouteComponent,
  notFound,
  Outlet,
  parseSearchWith,
  redirect,
  stringifySearchWith,
} from '@tanstack/react-router';
import { ApiError } from './api/errors.ts';
import { queryClient } from './api/query-client.ts';
import { sessionQuery, storeUnsentAtEnd } from './api/session.ts';
import { Missing } from './app/missing.tsx';
import { Shell } from './app/shell.tsx';
import { environmentOf } from './app/use-environment.ts';
import { SignInPage } from './pages/entrance/sign-in.tsx';
import { Failure, Loading, Toaster } from './ui/feedback.tsx';

/** The parameters of a query as texts; anything else in the URL is ignored. */
function texts<const Name extends string>(...names: Name[]) {
  return (search: Record<string, unknown>): { [Key in Name]?: string } =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = search[name];
        return typeof value === 'string' && value !== '' ? [[name, value]] : [];
      }),
    ) as { [Key in Name]?: string };
}

/** In place of a page, or of all pages, as when the session could not be read. */
function FailedRoute({ error, reset }: ErrorComponentProps) {
  const retry = () => {
    // A part of the pages that the browser did not get is asked for again only by another document.
    if (!(error instanceof ApiError)) {
      storeUnsentAtEnd();
      return location.reload();
    }
    reset();
    // The session and the page are read again.
    void router.invalidate();
  };
  return (
    <main className="page" id="main">
      <Failure cause={error} onRetry={retry} isPage />
    </main>
  );
}

/** After an upgrade the script of a page may be gone: the router then loads the document again, which must not cost what was typed. */
const lazyPage: typeof lazyRouteComponent = (load, name) =>
  lazyRouteComponent(
    () =>
      load().catch((cause: unknown) => {
        storeUnsentAtEnd();
        throw cause;
      }),
    name,
  );

const rootRoute = createRootRoute({
  component: () => (
    <>
      <Outlet />
      <Toaster />
    </>
  ),
  notFoundComponent: Missing,
  errorComponent: FailedRoute,
});

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: texts('return_to', 'error'),
  component: SignInPage,
});
const chooseOrganizationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/choose-organization',
  component: lazyPage(() => import('./pages/entrance/choose-organization.tsx'), 'ChooseOrganizationPage'),
});
const invitationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/invitation',
  validateSearch: texts('token'),
  component: lazyPage(() => import('./pages/entrance/invitation.tsx'), 'InvitationPage'),
});
const resetRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/password-reset',
  validateSearch: texts('token'),
  component: lazyPage(() => import('./pages/entrance/password-reset.tsx'), 'PasswordResetPage'),
});
const startRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/$environment', params: { environment: 'live' }, replace: true });
  },
});

const appRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/$environment',
  beforeLoad: async ({ params, location }) => {
    if (environmentOf(params.environment) !== params.environment) throw redirect({ to: '/$environment', params: { environment: 'live' } });
    const session = await queryClient.ensureQueryData(sessionQuery);
    if (!session) throw redirect({ to: '/sign-in', search: { return_to: location.href } });
  },
  component: Shell,
});

const under = () => appRoute;

const pages = [
  createRoute({ getParentRoute: under, path: '/', component: lazyPage(() => import('./pages/home/home.tsx'), 'HomePage') }),
  createRoute({
    getParentRoute: under,
    path: '/agents',
    validateSearch: texts('cursor', 'search', 'status'),
    component: lazyPage(() => import('./pages/agents/agents.tsx'), 'AgentsPage'),
  }),
  createRoute({
    getParentRoute: under,
    path: '/agents/$agentId',
    validateSearch: texts('tab', 'language'),
    component: lazyPage(() => import('./pages/agents/agent.tsx'), 'AgentPage'),
  }),
  createRoute({
    getParentRoute: under,
    path: '/chat',
    component: lazyPage(() => import('./pages/chat/chat.tsx'), 'ChatStartPage'),
  }),
  createRoute({
    getParentRoute: under,
    path: '/chat/$agentId/{-$conversationId}',
    validateSearch: texts('prompt'),
    component: lazyPage(() => import('./pages/chat/chat.tsx'), 'ChatPage'),
  }),
  createRoute({
    getParentRoute: under,
    path: '/templates',
    validateSearch: texts('search', 'status', 'category'),
    component: lazyPage(() => import('./pages/templates/templates.tsx'), 'TemplatesPage'),
  }),
  createRoute({
    getParentRoute: under,
    path: '/templates/$templateId',
    component: lazyPage(() => import('./pages/templates/template.tsx'), 'TemplatePage'),
  }),
  createRoute({
    getParentRoute: under,
    path: '/credits',
    validateSearch: texts('tab', 'group', 'from', 'to', 'cursor'),
    component: lazyPage(() => import('./pages/credits/credits.tsx'), 'CreditsPage'),
  }),
  createRoute({
    getParentRoute: under,
    path: '/settings',
    component: lazyPage(() => import('./pages/settings/settings.tsx'), 'SettingsPage'),
  }),
] as const;

const isAdministrator = () => {
  if (queryClient.getQueryData(sessionQuery.queryKey)?.user.role !== 'admin') throw notFound();
};

const adminPages = [
  createRoute({
    getParentRoute: under,
    path: '/agents/new',
    beforeLoad: isAdministrator,
    component: lazyPage(() => import('./pages/agents/edit-agent.tsx'), 'NewAgentPage'),
  }),
  createRoute({
    getParentRoute: under,
    path: '/agents/$agentId/edit',
    beforeLoad: isAdministrator,
    component: lazyPage(() => import('./pages/agents/edit-agent.tsx'), 'EditAgentPage'),
  }),
  createRoute({
    getParentRoute: under,
    path: '/keys',
    beforeLoad: isAdministrator,
    validateSearch: texts('cursor', 'status'),
    component: lazyPage(() => import('./pages/credentials/keys.tsx'), 'KeysPage'),
  }),
  createRoute({
    getParentRoute: under,
    path: '/applications',
    beforeLoad: isAdministrator,
    validateSearch: texts('cursor', 'status'),
    component: lazyPage(() => import('./pages/credentials/applications.tsx'), 'ApplicationsPage'),
  }),
  createRoute({
    getParentRoute: under,
    path: '/webhooks',
    beforeLoad: isAdministrator,
    validateSearch: texts('cursor'),
    component: lazyPage(() => import('./pages/webhooks/webhooks.tsx'), 'WebhooksPage'),
  }),
  createRoute({
    getParentRoute: under,
    path: '/webhooks/$webhookId',
    beforeLoad: isAdministrator,
    validateSearch: texts('cursor'),
    component: lazyPage(() => import('./pages/webhooks/webhook.tsx'), 'WebhookPage'),
  }),
  createRoute({
    getParentRoute: under,
    path: '/data-source',
    beforeLoad: isAdministrator,
    component: lazyPage(() => import('./pages/data-source/data-source.tsx'), 'DataSourcePage'),
  }),
  createRoute({
    getParentRoute: under,
    path: '/users',
    beforeLoad: isAdministrator,
    validateSearch: texts('cursor', 'status', 'role'),
    component: lazyPage(() => import('./pages/organization/users.tsx'), 'UsersPage'),
  }),
  createRoute({
    getParentRoute: under,
    path: '/audit',
    beforeLoad: isAdministrator,
    validateSearch: texts('cursor', 'actor', 'action', 'target', 'from', 'to'),
    component: lazyPage(() => import('./pages/organization/audit.tsx'), 'AuditPage'),
  }),
] as const;

const routeTree = rootRoute.addChildren([
  signInRoute,
  chooseOrganizationRoute,
  invitationRoute,
  resetRoute,
  startRoute,
  appRoute.addChildren([...pages, ...adminPages]),
]);

export const router = createRouter({
  routeTree,
  // Parameters are texts: 007 is no number.
  parseSearch: parseSearchWith((text) => text),
  stringifySearch: stringifySearchWith(String),
  defaultPreload: 'intent',
  defaultPreloadDelay: 50,
  scrollRestoration: true,
  defaultPendingMs: 200,
  defaultPendingComponent: () => <Loading />,
  defaultErrorComponent: FailedRoute,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
  interface HistoryState {
    /** The cursors of the pages of a list before this one; null is the first page. */
    cursors?: (string | null)[];
  }
}
