import { useQueryClient } from '@tanstack/react-query';
import { QRCodeSVG } from 'qrcode.react';
import { useState } from 'react';
import { portal } from '../../api/client.ts';
import { sessionKey, useSession } from '../../api/session.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Dialog, FormDialog } from '../../ui/dialog.tsx';
import { Badge, notify } from '../../ui/feedback.tsx';
import { TextField, useApiForm } from '../../ui/form.tsx';
import { Section } from '../../ui/page.tsx';

interface Enrolment {
  secret: string;
  uri: string;
}

type Open = { kind: 'begin' } | { kind: 'enrol'; enrolment: Enrolment } | { kind: 'codes'; codes: string[] } | { kind: 'remove' };

/** A second factor: six digits of an authenticator app at each sign-in. */
export function TwoFactor() {
  const { two_factor: isOn } = useSession();
  const client = useQueryClient();
  const [open, setOpen] = useState<Open>();
  const changed = () => client.invalidateQueries({ queryKey: sessionKey });
  const close = () => setOpen(undefined);
  return (
    <Section title="Two-factor sign-in" description="A stolen password is not enough to sign in as you.">
      <div className="card padded">
        <div className="row spread wraps">
          <span className="row">
            Authenticator app <Badge tone={isOn ? 'success' : 'neutral'}>{isOn ? 'On' : 'Off'}</Badge>
          </span>
          {isOn ? (
            <Button onClick={() => setOpen({ kind: 'remove' })}>Switch off</Button>
          ) : (
            <Button onClick={() => setOpen({ kind: 'begin' })}>Set up</Button>
          )}
        </div>
      </div>
      {open?.kind === 'begin' && <Begin onClose={close} onDone={(enrolment) => setOpen({ kind: 'enrol', enrolment })} />}
      {open?.kind === 'enrol' && (
        <Enrol
          enrolment={open.enrolment}
          onClose={close}
          onDone={(codes) => {
            void changed();
            setOpen({ kind: 'codes', codes });
          }}
        />
      )}
      {open?.kind === 'codes' && <RecoveryCodes codes={open.codes} onClose={close} />}
      {open?.kind === 'remove' && <Remove onClose={close} onDone={changed} />}
    </Section>
  );
}

/** The password comes first, so that a browser that was left open is not enough. */
function Begin({ onClose, onDone }: { onClose: () => void; onDone: (enrolment: Enrolment) => void }) {
  const send = async (body: PasswordValues) => onDone((await portal<{ data: Enrolment }>('POST', '/two-factor', body)).data);
  return <PasswordDialog title="Set up two-factor sign-in" action="Continue" onSend={send} onClose={onClose} />;
}

interface EnrolProps {
  enrolment: Enrolment;
  onClose: () => void;
  onDone: (codes: string[]) => void;
}

function Enrol({ enrolment, onClose, onDone }: EnrolProps) {
  const form = useApiForm({ code: '' }, async ({ code }) => {
    const { data } = await portal<{ data: { recovery_codes: string[] } }>('PUT', '/two-factor', { code: code.trim() });
    onDone(data.recovery_codes);
  });
  return (
    <FormDialog
      title="Set up two-factor sign-in"
      description="Scan the QR code with an authenticator app, and enter the code that the app shows."
      onClose={onClose}
      form={form}
      action="Switch on"
    >
      <div className="qr">
        <QRCodeSVG value={enrolment.uri} size={168} marginSize={2} title="QR code for an authenticator app" />
      </div>
      <div className="row">
        <input className="input mono" readOnly value={enrolment.secret} aria-label="Secret, to be typed instead" />
        <CopyButton text={enrolment.secret} />
      </div>
      <TextField
        label="Code"
        inputMode="numeric"
        autoComplete="one-time-code"
        error={form.errorOf('code')}
        {...form.register('code', { required: 'Enter the six digits.' })}
      />
    </FormDialog>
  );
}

function RecoveryCodes({ codes, onClose }: { codes: string[]; onClose: () => void }) {
  return (
    <Dialog
      title="Keep your recovery codes"
      description="Each signs you in once, if you lose your phone. They are not shown again."
      closesByButton
      onClose={onClose}
    >
      <ul className="codes mono">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="dialog-foot">
        <CopyButton text={codes.join('\n')} label="Copy all" />
        <Button variant="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}

function Remove({ onClose, onDone }: { onClose: () => void; onDone: () => Promise<unknown> }) {
  const send = async (body: PasswordValues) => {
    await portal('DELETE', '/two-factor', body);
    await onDone();
    notify('Two-factor sign-in is off.');
    onClose();
  };
  return <PasswordDialog title="Switch off two-factor sign-in?" action="Switch off" isDanger onSend={send} onClose={onClose} />;
}

interface PasswordValues {
  password: string;
}

interface PasswordDialogProps {
  title: string;
  action: string;
  isDanger?: boolean;
  onSend: (values: PasswordValues) => Promise<unknown>;
  onClose: () => void;
}

/** Asks the user for the password before something that changes how the user signs in. */
function PasswordDialog({ title, action, isDanger, onSend, onClose }: PasswordDialogProps) {
  const form = useApiForm({ password: '' }, onSend);
  return (
    <FormDialog title={title} onClose={onClose} form={form} action={action} danger={isDanger}>
      <TextField
        label="Your password"
        type="password"
        autoComplete="current-password"
        error={form.errorOf('password')}
        {...form.register('password', { required: 'Enter your password.' })}
      />
    </FormDialog>
  );
}
