import { createLink } from '@tanstack/react-router';
import type { LucideIcon } from 'lucide-react';
import { type ComponentProps, type ReactNode, type SyntheticEvent, useState } from 'react';

export interface Look {
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
