import * as RadixToast from '@radix-ui/react-toast';
import { CircleAlert, CircleCheck, Info, type LucideIcon, RotateCw, TriangleAlert } from 'lucide-react';
import { type ReactNode, useSyncExternalStore } from 'react';
import { ApiError, messageOf } from '../api/errors.ts';
import { Button } from './button.tsx';
import { createListeners } from './listeners.ts';

export type Tone = 'neutral' | 'accent' | 'success' | 'warning' | 'danger';

export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return <span className={`badge ${tone}`}>{children}</span>;
}

const icons: Record<Tone, LucideIcon> = { neutral: Info, accent: Info, success: CircleCheck, warning: TriangleAlert, danger: CircleAlert };

export function Notice({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  const Icon = icons[tone];
  return (
    <div className={`notice ${tone}`} role={tone === 'danger' ? 'alert' : undefined}>
      <Icon size={16} aria-hidden="true" />
      <div>{children}</div>
    </div>
  );
}

interface EmptyProps {
  icon: LucideIcon;
  title: string;
  children?: ReactNode;
  actions?: ReactNode;
  /** The heading of the page, where nothing else is on it. */
  isPage?: boolean;
}

/** Says what would stand here, and how to begin. */
export function Empty({ icon: Icon, title, children, actions, isPage }: EmptyProps) {
  const Heading = isPage ? 'h1' : 'h2';
  return (
    <div className="empty">
      <div className="empty-icon">
        <Icon size={20} aria-hidden="true" />
      </div>
      <Heading>{title}</Heading>
      {children && <p>{children}</p>}
      {actions && <div className="row wraps">{actions}</div>}
    </div>
  );
}

interface FailureProps {
  cause: unknown;
  onRetry?: () => void;
  /** The heading of the page, where nothing else is on it. */
  isPage?: boolean;
}

/** A failed read, in the words of the service. */
export function Failure({ cause, onRetry, isPage }: FailureProps) {
  const Heading = isPage ? 'h1' : 'h2';
  const requestId = cause instanceof ApiError ? cause.requestId : undefined;
  const title = cause instanceof ApiError && cause.status === 403 ? 'You may not view this' : 'This could not be loaded';
  return (
    <div className="empty" role="alert">
      <div className="empty-icon">
        <CircleAlert size={20} aria-hidden="true" />
      </div>
      <Heading>{title}</Heading>
      <p className="wrap">{messageOf(cause)}</p>
      {requestId && <p className="small mono wrap">Request {requestId}</p>}
      {onRetry && (
        <div className="row">
          <Button icon={RotateCw} onClick={onRetry}>
            Try again
          </Button>
        </div>
      )}
    </div>
  );
}

/** As wide as the text that it stands for, so that nothing moves when that arrives. */
export function Skeleton({ width = '60%', height }: { width?: string; height?: string }) {
  return <span className="skeleton" style={{ width, ...(height && { height }) }} aria-hidden="true" />;
}

export function Loading({ label = 'Loading' }: { label?: string }) {
  return (
    <div className="empty" role="status">
      <span className="spinner" aria-hidden="true" />
      <span className="visually-hidden">{label}</span>
    </div>
  );
}

interface Toast {
  id: number;
  text: string;
  tone: 'success' | 'danger';
}

const maxAtOnce = 4;
let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = createListeners();

function setToasts(next: readonly Toast[]) {
  toasts = next.slice(-maxAtOnce);
  listeners.notify();
}

/** Says at the edge of the window what has happened. */
export function notify(text: string, tone: Toast['tone'] = 'success') {
  lastId += 1;
  setToasts([...toasts, { id: lastId, text, tone }]);
}

export const notifyFailure = (cause: unknown) => notify(messageOf(cause), 'danger');

export function Toaster() {
  const current = useSyncExternalStore(listeners.subscribe, () => toasts);
  return (
    <RadixToast.Provider duration={6_000} label="Notification">
      {current.map(({ id, text, tone }) => {
        const Icon = icons[tone];
        return (
          <RadixToast.Root
            key={id}
            className={`toast ${tone}`}
            type={tone === 'danger' ? 'foreground' : 'background'}
            onOpenChange={(isOpen) => !isOpen && setToasts(toasts.filter((one) => one.id !== id))}
          >
            <Icon size={16} aria-hidden="true" />
            <RadixToast.Description>{text}</RadixToast.Description>
          </RadixToast.Root>
        );
      })}
      <RadixToast.Viewport className="toasts" />
    </RadixToast.Provider>
  );
}
