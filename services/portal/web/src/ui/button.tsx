import { createLink } from '@tanstack/react-router';
import { Check, Copy, type LucideIcon } from 'lucide-react';
import { type ComponentProps, type ReactNode, type SyntheticEvent, useEffect, useState } from 'react';
import { notify } from './feedback.tsx';

interface Look {
  variant?: 'default' | 'primary' | 'danger' | 'ghost';
  large?: boolean;
  wide?: boolean;
  icon?: LucideIcon;
}

function classesOf({ variant = 'default', large, wide }: Look, children: ReactNode, className = '') {
  const parts = ['button', variant !== 'default' && variant, large && 'large', wide && 'wide', !children && 'icon', className];
  return parts.filter(Boolean).join(' ');
}

type ButtonProps = Look & { busy?: boolean } & ComponentProps<'button'>;

const ignore = (event: SyntheticEvent) => event.preventDefault();

/** A button. While `busy` it shows a spinner and does nothing, and so while it is `aria-disabled`; unlike a disabled one it keeps the focus. */
export function Button({ variant, large, wide, icon: Icon, busy = false, children, className, ...rest }: ButtonProps) {
  const isInert = busy || rest['aria-disabled'] === true;
  // An icon that stands alone says in words what it does.
  const title = children ? undefined : rest['aria-label'];
  return (
    <button
      type="button"
      title={title}
      {...rest}
      className={classesOf({ variant, large, wide }, children, className)}
      onClick={isInert ? ignore : rest.onClick}
      aria-disabled={isInert || undefined}
      aria-busy={busy || undefined}
    >
      {busy ? <span className="spinner" aria-hidden="true" /> : Icon && <Icon size={16} aria-hidden="true" />}
      {children}
    </button>
  );
}

type ActionProps = Omit<ButtonProps, 'busy' | 'onClick'> & { onClick: () => Promise<unknown> };

/** A button that is busy until its action has ended: the second click of a double click does nothing. */
export function ActionButton({ onClick, ...rest }: ActionProps) {
  const [isBusy, setBusy] = useState(false);
  const act = () => {
    setBusy(true);
    void onClick().finally(() => setBusy(false));
  };
  return <Button {...rest} busy={isBusy} onClick={act} />;
}

type AnchorProps = Look & ComponentProps<'a'>;

function ButtonAnchor({ variant, large, wide, icon: Icon, children, className, ...rest }: AnchorProps) {
  return (
    <a {...rest} className={classesOf({ variant, large, wide }, children, className)}>
      {Icon && <Icon size={16} aria-hidden="true" />}
      {children}
    </a>
  );
}

/** A link of the app that looks like a button. */
export const ButtonLink = createLink(ButtonAnchor);

const copiedForMs = 1_600;

/** Copies a text, and says so for a moment. */
export function CopyButton({
  text,
  label = 'Copy',
  iconOnly = false,
  ...rest
}: { text: string; label?: string; iconOnly?: boolean } & Look) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), copiedForMs);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => {
    const isDone = await copyText(text);
    setCopied(isDone);
    if (!isDone) notify('This could not be copied. Select it to copy it.', 'danger');
  };
  const message = isCopied ? 'Copied' : label;
  return (
    <>
      <Button {...rest} icon={isCopied ? Check : Copy} onClick={copy} aria-label={iconOnly ? message : undefined}>
        {iconOnly ? undefined : message}
      </Button>
      <span className="visually-hidden" aria-live="polite">
        {isCopied && 'Copied'}
      </span>
    </>
  );
}

/** The clipboard exists only on https and on localhost; elsewhere a selection is copied. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const focused = document.activeElement as HTMLElement | null;
    const area = Object.assign(document.createElement('textarea'), { value: text });
    (document.querySelector('[role="dialog"]') ?? document.body).append(area);
    area.select();
    const isCopied = document.execCommand('copy');
    area.remove();
    focused?.focus({ preventScroll: true });
    return isCopied;
  }
}

/** Code with a button that copies it. */
export function CodeBlock({ code, label }: { code: string; label: string }) {
  return (
    <div className="code">
      <pre tabIndex={0} role="region" aria-label={label} dir="ltr">
        <code>{code}</code>
      </pre>
      {code && <CopyButton text={code} iconOnly label={`Copy: ${label}`} variant="ghost" />}
    </div>
  );
}
