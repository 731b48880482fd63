import * as RadixDialog from '@radix-ui/react-dialog';
import * as RadixMenu from '@radix-ui/react-dropdown-menu';
import { Ellipsis, type LucideIcon, X } from 'lucide-react';
import { type ReactNode, useRef } from 'react';
import type { FieldValues } from 'react-hook-form';
import { Button } from './button.tsx';
import { CopyButton } from './copy.tsx';
import { type ApiForm, TextField, useApiForm } from './form.tsx';
import { useQuestionBeforeLeaving } from './leaving.ts';

interface DialogProps {
  title: string;
  description?: ReactNode;
  onClose: () => void;
  /** While it is true the dialog stays open, since it shows how its request ends. */
  busy?: boolean;
  /** For a dialog whose content is shown once: Escape and a click outside do not close it, and a question comes before its page is left. */
  closesByButton?: boolean;
  wide?: boolean;
  children?: ReactNode;
}

let lastFocused: HTMLElement | undefined;
function rememberFocus(element: HTMLElement | null) {
  if (element && !element.closest('[role="dialog"], [role="menu"]')) lastFocused = element;
}
document.addEventListener('focusin', ({ target }) => rememberFocus(target instanceof HTMLElement ? target : null));
// A mouse opens a menu without a focus on its button, and Safari focuses no button that is clicked.
document.addEventListener('pointerdown', ({ target }) =>
  rememberFocus(target instanceof Element ? target.closest('button, a[href]') : null),
);

/** Radix knows no button for a dialog that opens by a state, and the item of a menu is gone when its dialog closes. */
function returnFocus(event: Event) {
  event.preventDefault();
  (lastFocused?.isConnected ? lastFocused : document.getElementById('main'))?.focus();
}

/**
 * A modal dialog. Its backdrop is a plain element and not Radix's overlay, which writes a style element for its scroll lock that the content
 * security policy refuses; the style sheet keeps the page still instead.
 */
export function Dialog({ title, description, onClose, busy = false, closesByButton = false, wide, children }: DialogProps) {
  const hasInput = useRef(false);
  useQuestionBeforeLeaving({ question: 'Leave without a copy? This is not shown again.', isAsked: closesByButton });
  return (
    <RadixDialog.Root open onOpenChange={() => !busy && !closesByButton && onClose()}>
      <RadixDialog.Portal>
        <div className="overlay" aria-hidden="true" />
        <RadixDialog.Content
          className={wide ? 'dialog wide' : 'dialog'}
          onCloseAutoFocus={returnFocus}
          onInput={() => void (hasInput.current = true)}
          // A click beside the dialog may be a slip, and would lose what was typed.
          onPointerDownOutside={(event) => hasInput.current && event.preventDefault()}
          {...(!description && { 'aria-describedby': undefined })}
        >
          <div className="dialog-head">
            <RadixDialog.Title asChild>
              <h2>{title}</h2>
            </RadixDialog.Title>
            {description && <RadixDialog.Description className="muted wrap">{description}</RadixDialog.Description>}
          </div>
          <div className="dialog-body">{children}</div>
          {!closesByButton && (
            <RadixDialog.Close asChild>
              <Button variant="ghost" icon={X} className="dialog-close" aria-label="Close" aria-disabled={busy} />
            </RadixDialog.Close>
          )}
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  );
}

interface FormDialogProps<Values extends FieldValues> extends Omit<DialogProps, 'busy' | 'closesByButton'> {
  form: ApiForm<Values>;
  /** The label of the button that sends the form. */
  action: string;
  icon?: LucideIcon;
  danger?: boolean;
  disabled?: boolean;
  /** A button before the others. */
  more?: ReactNode;
}

/** A dialog that sends a form: it stays open while the form is sent, and says why that failed. */
export function FormDialog<Values extends FieldValues>({
  form,
  action,
  icon,
  danger,
  disabled,
  more,
  children,
  ...dialog
}: FormDialogProps<Values>) {
  const { isSubmitting } = form.formState;
  return (
    <Dialog {...dialog} busy={isSubmitting}>
      <form className="stack" onSubmit={form.submit} noValidate>
        {children}
        {form.failure}
        <div className="dialog-foot">
          {more}
          <RadixDialog.Close asChild>
            <Button aria-disabled={isSubmitting}>Cancel</Button>
          </RadixDialog.Close>
          <Button type="submit" variant={danger ? 'danger' : 'primary'} icon={icon} disabled={disabled} busy={isSubmitting}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface ConfirmProps {
  title: string;
  children: ReactNode;
  action: string;
  /** The name that has to be typed; without one a click confirms. */
  name?: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}

/** A name as a keyboard writes it: the page shows any white space as one blank and accents in either of their forms alike, and "…" is three dots. */
const typedForm = (name: string) => name.normalize('NFKC').replaceAll(/\s+/g, ' ').trim();

/** Asks before something that cannot be undone. */
export function ConfirmDialog({ title, children, action, name, onConfirm, onClose }: ConfirmProps) {
  const form = useApiForm({ typed: '' }, async () => {
    await onConfirm();
    onClose();
  });
  const isConfirmed = name === undefined || typedForm(form.watch('typed')) === typedForm(name);
  return (
    <FormDialog title={title} description={children} onClose={onClose} form={form} action={action} danger disabled={!isConfirmed}>
      {name !== undefined && (
        <TextField
          label={
            <>
              Type{' '}
              <strong className="wrap" dir="auto">
                {name}
              </strong>{' '}
              to confirm
            </>
          }
          {...form.register('typed', { validate: () => isConfirmed })}
          autoFocus
        />
      )}
    </FormDialog>
  );
}

interface SecretProps {
  title: string;
  description: string;
  secrets: { label: string; value: string }[];
  onClose: () => void;
}

/** Shows what can be read only now. */
export function SecretDialog({ title, description, secrets, onClose }: SecretProps) {
  return (
    <Dialog title={title} description={description} closesByButton onClose={onClose}>
      {secrets.map(({ label, value }) => (
        <div className="field" key={label}>
          <span className="label">{label}</span>
          <div className="row">
            <input className="input mono" readOnly value={value} aria-label={label} onFocus={(event) => event.target.select()} />
            <CopyButton text={value} />
          </div>
        </div>
      ))}
      <div className="dialog-foot">
        <Button variant="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}

interface MenuItem {
  label: string;
  icon: LucideIcon;
  onSelect: () => void;
  danger?: boolean;
  disabled?: boolean;
}

function MenuItems({ items }: { items: (MenuItem | 'line')[] }) {
  return items.map((item, index) =>
    item === 'line' ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: a line has no identity.
      <RadixMenu.Separator key={index} className="menu-line" />
    ) : (
      <RadixMenu.Item
        key={item.label}
        className={item.danger ? 'menu-item danger' : 'menu-item'}
        onSelect={item.onSelect}
        disabled={item.disabled}
      >
        <item.icon size={16} aria-hidden="true" />
        {item.label}
      </RadixMenu.Item>
    ),
  );
}

interface MenuProps {
  label: string;
  items: (MenuItem | 'line')[];
  trigger?: ReactNode;
  heading?: ReactNode;
  align?: 'start' | 'end';
}

/** A menu of actions. It is not modal: a modal one writes a style element that the content security policy refuses. */
export function Menu({ label, items, trigger, heading, align = 'end' }: MenuProps) {
  return (
    <RadixMenu.Root modal={false}>
      <RadixMenu.Trigger asChild aria-label={trigger ? undefined : label}>
        {trigger ?? <Button variant="ghost" icon={Ellipsis} />}
      </RadixMenu.Trigger>
      <RadixMenu.Portal>
        <RadixMenu.Content className="menu" align={align} sideOffset={4} collisionPadding={8} aria-label={label}>
          {heading}
          <MenuItems items={items} />
        </RadixMenu.Content>
      </RadixMenu.Portal>
    </RadixMenu.Root>
  );
}
