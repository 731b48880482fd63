import * as RadixDialog from '@radix-ui/react-dialog';
import { useIsFetching, useQuery } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useNavigate, useRouter } from '@tanstack/react-router';
import { LogOut, Menu as MenuIcon, Monitor, Moon, Search, Settings, Sun } from 'lucide-react';
import { lazy, Suspense, useEffect, useState } from 'react';
import { environments, portal } from '../api/client.ts';
import { leaveSession, leaveToSignIn, type Session, sessionQuery, useSession } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { Menu } from '../ui/dialog.tsx';
import { notifyFailure } from '../ui/feedback.tsx';
import { confirmLeaving, forgetQuestions } from '../ui/leaving.ts';
import { destinationsOf } from './navigation.ts';
import { setTheme, type Theme, useTheme } from './theme.ts';
import { useEnvironment } from './use-environment.ts';

const loadPalette = () => import('./command-palette.tsx');
const CommandPalette = lazy(loadPalette);
const idleMs = 1_500;

/** Everything around a page: navigation, the environment and the command palette. */
export function Shell() {
  const { data: session } = useQuery(sessionQuery);
  const isSignedOut = session === null;
  useEffect(() => {
    if (isSignedOut) leaveToSignIn();
  }, [isSignedOut]);
  return session ? <SignedIn session={session} /> : null;
}

function SignedIn({ session }: { session: Session }) {
  const environment = useEnvironment();
  const [isSearching, setSearching] = useOpen();
  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        // A dialog may show what is shown only once, and would go with its page.
        if (!document.querySelector('[role="dialog"]:not(.palette)')) setSearching((now) => !now);
      }
    };
    window.addEventListener('keydown', open);
    return () => window.removeEventListener('keydown', open);
  }, [setSearching]);
  useEffect(() => {
    // The first letters that are typed after Ctrl K are not lost while it loads.
    const timer = setTimeout(() => void loadPalette().catch(() => undefined), idleMs);
    return () => clearTimeout(timer);
  }, []);
  const openSearch = () => setSearching(true);
  return (
    <div className={`app environment-${environment}`}>
      <a className="button skip" href="#main">
        Skip to the content
      </a>
      <Sidebar session={session} onSearch={openSearch} />
      <TopBar session={session} onSearch={openSearch} />
      <div className="content">
        {environment === 'test' && (
          <aside className="test-line" aria-label="Environment">
            Test environment: answers come from the built-in model
          </aside>
        )}
        <SlowNotice />
        {/* Another environment is another page: a dialog or form of the one does nothing in the other. */}
        <Outlet key={environment} />
      </div>
      <Suspense>{isSearching && <CommandPalette onClose={() => setSearching(false)} />}</Suspense>
    </div>
  );
}

/** The state of something over the page, which closes when a different page comes. */
function useOpen() {
  const router = useRouter();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    // A page replaces its own URL by itself, as a new conversation that gets its id.
    const unsubscribe = router.history.subscribe(({ action }) => action.type !== 'REPLACE' && setOpen(false));
    return () => unsubscribe();
  }, [router]);
  return [isOpen, setOpen] as const;
}

const slowMs = 5_000;

/** Placeholders say that something is read, and after a while this says that it takes long. */
function SlowNotice() {
  const isWaiting = useIsFetching({ predicate: ({ state }) => state.status === 'pending' }) > 0;
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    if (!isWaiting) return;
    const timer = setTimeout(() => setSlow(true), slowMs);
    return () => {
      clearTimeout(timer);
      setSlow(false);
    };
  }, [isWaiting]);
  return (
    <div className="slow-notice" role="status">
      {isSlow && <p>The service is slow to answer. Still waiting.</p>}
    </div>
  );
}

interface BarProps {
  session: Session;
  onSearch: () => void;
}

function Sidebar({ session, onSearch }: BarProps) {
  return (
    <aside className="sidebar" aria-label="Sidebar">
      <div className="brand">
        <img className="brand-mark" src="/icon.svg" alt="" />
        <span className="truncate" dir="auto" title={session.organization.name}>
          {session.organization.name}
        </span>
      </div>
      <EnvironmentSwitch />
      <button type="button" className="search-button" onClick={onSearch}>
        <Search size={16} aria-hidden="true" />
        Search
        <kbd>{/mac/i.test(navigator.userAgent) ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      <Navigation session={session} />
      <Account />
    </aside>
  );
}

/** The same page in the other environment; what belongs to one environment only, as an agent, leads to its list. */
function EnvironmentSwitch() {
  const { pathname } = useLocation();
  const area = pathname.split('/')[2] ?? '';
  return (
    <nav className="segmented" aria-label="Environment">
      {environments.map((environment) => (
        <Link key={environment} to={`/${environment}/${area}` as '/'} preload={false}>
          {environment === 'live' ? 'Live' : 'Test'}
        </Link>
      ))}
    </nav>
  );
}

function Navigation({ session, onNavigate }: { session: Session; onNavigate?: () => void }) {
  const environment = useEnvironment();
  return (
    <nav className="nav" aria-label="Main">
      {destinationsOf(session).map(({ title, destinations }) => (
        <div key={title} className="nav-group">
          {title && <div className="nav-title">{title}</div>}
          <ul>
            {destinations.map(({ to, label, icon: Icon }) => (
              <li key={to}>
                <Link
                  to={to}
                  params={{ environment }}
                  className="nav-link"
                  activeOptions={{ exact: to === '/$environment', includeSearch: false }}
                  onClick={onNavigate}
                >
                  <Icon size={16} aria-hidden="true" />
                  {label}
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

const nextTheme: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };
const themeIcons = { system: Monitor, light: Sun, dark: Moon };

function Account() {
  const { user } = useSession();
  const environment = useEnvironment();
  const theme = useTheme();
  const navigate = useNavigate();
  return (
    <Menu
      label="Account"
      align="start"
      heading={
        <div className="menu-label" dir="auto">
          {user.email}
        </div>
      }
      trigger={
        <button type="button" className="account">
          <span className="avatar" dir="auto" aria-hidden="true">
            {initialsOf(user.name || user.email)}
          </span>
          <span className="truncate" dir="auto">
            {user.name || user.email}
          </span>
        </button>
      }
      items={[
        { label: 'Settings', icon: Settings, onSelect: () => void navigate({ to: '/$environment/settings', params: { environment } }) },
        { label: `Theme: ${theme}`, icon: themeIcons[theme], onSelect: () => setTheme(nextTheme[theme]) },
        'line',
        { label: 'Sign out', icon: LogOut, onSelect: signOut },
      ]}
    />
  );
}

const initialsOf = (name: string) =>
  name
    .split(/\s+/)
    .slice(0, 2)
    .map((word) => [...word][0]?.toUpperCase() ?? '')
    .join('');

function signOut() {
  if (!confirmLeaving()) return;
  portal('DELETE', '/session')
    .then(() => {
      forgetQuestions();
      leaveSession('/sign-in');
    })
    .catch(notifyFailure);
}

/** On a phone the navigation is behind a button. */
function TopBar({ session, onSearch }: BarProps) {
  const [isOpen, setOpen] = useOpen();
  return (
    <header className="topbar">
      <RadixDialog.Root open={isOpen} onOpenChange={setOpen}>
        <RadixDialog.Trigger asChild>
          <Button variant="ghost" icon={MenuIcon} aria-label="Menu" />
        </RadixDialog.Trigger>
        <RadixDialog.Portal>
          <div className="overlay" aria-hidden="true" />
          <RadixDialog.Content className="dialog drawer" aria-describedby={undefined}>
            <div className="sidebar">
              <RadixDialog.Title className="brand">
                <img className="brand-mark" src="/icon.svg" alt="" />
                <span className="truncate" dir="auto" title={session.organization.name}>
                  {session.organization.name}
                </span>
              </RadixDialog.Title>
              <Navigation session={session} onNavigate={() => setOpen(false)} />
              <Account />
            </div>
          </RadixDialog.Content>
        </RadixDialog.Portal>
      </RadixDialog.Root>
      <img className="brand-mark" src="/icon.svg" alt="" />
      <EnvironmentSwitch />
      <Button variant="ghost" icon={Search} aria-label="Search" onClick={onSearch} />
    </header>
  );
}
