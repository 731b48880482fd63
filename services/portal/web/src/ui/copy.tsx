import { Check, Copy } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Button, type Look } from './button.tsx';
import { notify } from './feedback.tsx';

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
