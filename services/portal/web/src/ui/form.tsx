import * as RadixSwitch from '@radix-ui/react-switch';
import { type ComponentProps, type ReactNode, type Ref, useEffect, useId, useRef, useState } from 'react';
import {
  type Control,
  type DefaultValues,
  type FieldPathByValue,
  type FieldValues,
  type Path,
  type UseFormReturn,
  useController,
  useForm,
} from 'react-hook-form';
import { randomKey } from '../api/client.ts';
import { ApiError, isRefusal, messageOf } from '../api/errors.ts';
import type { NameList } from '../api/lists.ts';
import { Notice, notifyFailure } from './feedback.tsx';
import { formatNumber } from './format.tsx';

interface FieldProps {
  label: ReactNode;
  hint?: ReactNode;
  error?: string | undefined;
  optional?: boolean;
  children: (control: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true }) => ReactNode;
}

/** A label, a control, a hint and the error of the control, bound to each other. */
function Field({ label, hint, error, optional, children }: FieldProps) {
  const id = useId();
  const described = [error && `${id}-error`, hint && `${id}-hint`].filter(Boolean).join(' ');
  return (
    <div className="field">
      <label htmlFor={id}>
        {label} {optional && <span className="muted small">(optional)</span>}
      </label>
      {children({ id, ...(described && { 'aria-describedby': described }), ...(error && { 'aria-invalid': true as const }) })}
      <ErrorText id={`${id}-error`}>{error}</ErrorText>
      {hint && (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

/** Why a control is refused; nothing where it is not. */
export function ErrorText({ id, children }: { id?: string; children: string | undefined }) {
  if (!children) return null;
  return (
    <p className="error-text" id={id} role="alert">
      {children}
    </p>
  );
}

type Described = Omit<FieldProps, 'children'>;

export function TextField({ label, hint, error, optional, ...rest }: Described & ComponentProps<'input'>) {
  return (
    <Field label={label} hint={hint} error={error} optional={optional}>
      {(control) => <input className="input" type="text" autoComplete="off" dir="auto" {...rest} {...control} />}
    </Field>
  );
}

export function TextAreaField({ label, hint, error, optional, ...rest }: Described & ComponentProps<'textarea'>) {
  return (
    <Field label={label} hint={hint} error={error} optional={optional}>
      {(control) => <textarea className="textarea" dir="auto" {...rest} {...control} />}
    </Field>
  );
}

export function SelectField({ label, hint, error, optional, children, ...rest }: Described & ComponentProps<'select'>) {
  return (
    <Field label={label} hint={hint} error={error} optional={optional}>
      {(control) => (
        <select className="select" {...rest} {...control}>
          {children}
        </select>
      )}
    </Field>
  );
}

/** The last of the options that a list is chosen from: says that there are more than it has. */
export function CutOption({ list }: { list: NameList<unknown> | undefined }) {
  if (!list || list.total <= list.rows.length) return null;
  return (
    <option disabled>
      The first {formatNumber(list.rows.length)} of {formatNumber(list.total)}
    </option>
  );
}

interface DateProps {
  label: string;
  value: string;
  onChange: (day: string) => void;
  min?: string | undefined;
  max?: string | undefined;
  /** The element that says why the day is refused. */
  faultId?: string | undefined;
}

/** The first day that the API knows. The year of an earlier one is still being typed. */
const firstDay = '1970-01-01';

/** A day. While it is typed, part by part, it shows what is typed, and tells it when its year is complete. */
export function DateInput({ label, value, onChange, faultId, ...limits }: DateProps) {
  const [typed, setTyped] = useState<string>();
  const change = (day: string) => {
    setTyped(day);
    if (day === '' || day >= firstDay) onChange(day);
  };
  return (
    <input
      {...limits}
      className="input date"
      type="date"
      aria-label={label}
      aria-describedby={faultId}
      aria-invalid={faultId ? true : undefined}
      value={typed ?? value}
      onChange={(event) => change(event.target.value)}
      onBlur={() => setTyped(undefined)}
    />
  );
}

interface SwitchProps<Values extends FieldValues> {
  control: Control<Values>;
  name: FieldPathByValue<Values, boolean>;
  label: string;
  hint: string;
}

export function SwitchField<Values extends FieldValues>({ control, name, label, hint }: SwitchProps<Values>) {
  const { field } = useController({ control, name });
  const id = useId();
  return (
    <div className="row spread">
      <div>
        <label htmlFor={id} className="cell-title">
          {label}
        </label>
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      </div>
      <RadixSwitch.Root id={id} className="switch" checked={field.value} onCheckedChange={field.onChange} aria-describedby={`${id}-hint`}>
        <RadixSwitch.Thumb className="switch-thumb" />
      </RadixSwitch.Root>
    </div>
  );
}

export function CheckField({ label, hint, ...rest }: { label: ReactNode; hint?: ReactNode } & ComponentProps<'input'>) {
  return (
    <label className="check">
      <input type="checkbox" {...rest} />
      <span className="wrap">
        {label}
        {hint && <span className="hint"> {hint}</span>}
      </span>
    </label>
  );
}

interface CheckGroupProps<Name extends string> {
  label: string;
  /** The names to choose from, in their order. */
  names: readonly Name[];
  hints: Readonly<Record<Name, string>>;
  value: readonly Name[];
  onChange: (names: Name[]) => void;
  error: string | undefined;
  /** Takes the focus when the choice is refused. */
  ref: Ref<HTMLInputElement>;
  /** Stands beside the label. */
  more?: ReactNode;
}

/** Check boxes, each with a technical name and what it means. */
export function CheckGroup<Name extends string>({ label, names, hints, value, onChange, error, ref, more }: CheckGroupProps<Name>) {
  const id = useId();
  const toggle = (name: Name, isOn: boolean) => onChange(names.filter((one) => (one === name ? isOn : value.includes(one))));
  return (
    <fieldset className="field" aria-labelledby={`${id}-label`} aria-describedby={error && `${id}-error`}>
      <div className="row spread">
        <span className="label" id={`${id}-label`}>
          {label}
        </span>
        {more}
      </div>
      <div className="scopes">
        {names.map((name, index) => (
          <CheckField
            key={name}
            ref={index === 0 ? ref : undefined}
            checked={value.includes(name)}
            onChange={({ target }) => toggle(name, target.checked)}
            label={<span className="mono small">{name}</span>}
            hint={hints[name]}
          />
        ))}
      </div>
      <ErrorText id={`${id}-error`}>{error}</ErrorText>
    </fieldset>
  );
}

export interface ApiForm<Values extends FieldValues> extends UseFormReturn<Values> {
  /** Handles the form's submit event. */
  submit: (event: React.FormEvent) => void;
  /** The message of a field, the API's or the form's own. A refusal of a field whose message is not asked for is a part of `failure`. */
  errorOf: (name: Path<Values>) => string | undefined;
  /** Why the last submit failed, where that belongs to no field. */
  failure: ReactNode;
  /** False when the user has left the page of the form. */
  isShown: () => boolean;
}

/**
 * A form whose refusals stand beside their fields. `send` gets an Idempotency-Key, the same one when the same values are sent again after a failure
 * that does not tell whether they arrived. `fieldOf` maps a parameter of the API, as `data_scope.tables[0]`, to the field that sets it;
 * a parameter without a field, or whose field shows no message, is shown above the buttons.
 */
export function useApiForm<Values extends FieldValues>(
  defaultValues: DefaultValues<Values>,
  send: (values: Values, key: string) => Promise<unknown>,
  fieldOf: (param: string) => string = firstName,
): ApiForm<Values> {
  const form = useForm<Values>({ defaultValues });
  const { errors } = form.formState;
  const attempt = useRef<{ sent: string; key: string }>(undefined);
  const keyOf = (values: Values) => {
    const sent = JSON.stringify(values);
    if (attempt.current?.sent !== sent) attempt.current = { sent, key: randomKey() };
    return attempt.current.key;
  };
  const forgetKey = () => void (attempt.current = undefined);
  /** The fields that this rendering shows with their messages. */
  const namesWithMessage = new Set<string>();
  const shownNames = useRef(namesWithMessage);
  useEffect(() => void (shownNames.current = namesWithMessage));
  const isShown = useRef(false);
  useEffect(() => {
    isShown.current = true;
    return () => void (isShown.current = false);
  }, []);
  const fail = (cause: unknown) => {
    if (isRefusal(cause)) forgetKey();
    // The user has left the page of the form, and would not see the failure there.
    if (!isShown.current) return notifyFailure(cause);
    const known = cause instanceof ApiError ? cause.fields : [];
    const matched = known.filter(({ param }) => shownNames.current.has(fieldOf(param)));
    for (const { param, message } of matched)
      form.setError(fieldOf(param) as Path<Values>, { message: sentence(param, message) }, { shouldFocus: matched[0]?.param === param });
    const other = known.filter((one) => !matched.includes(one)).map(({ message }) => message);
    if (matched.length === 0 || other.length > 0) form.setError('root', { message: other.join(' ') || messageOf(cause) });
  };
  return {
    ...form,
    submit: (event) => {
      // A form in a dialog stands in the tree of another form.
      event.stopPropagation();
      // The value of a number field is empty where its text is no number.
      const unreadable = [...event.currentTarget.querySelectorAll('input')].find(({ validity }) => validity.badInput);
      if (unreadable) {
        event.preventDefault();
        form.setError(unreadable.name as Path<Values>, { message: 'Enter a number.' }, { shouldFocus: true });
        return;
      }
      void form.handleSubmit((values) => send(values, keyOf(values)).then(forgetKey, fail))(event);
    },
    errorOf: (name) => {
      namesWithMessage.add(name);
      return form.getFieldState(name, form.formState).error?.message || undefined;
    },
    failure: errors.root?.message ? <Notice tone="danger">{errors.root.message}</Notice> : null,
    isShown: () => isShown.current,
  };
}

/** The fields of `after` that differ from `before`, so that a change of one field takes back no change of the others by another user. */
export const changesOf = <Body extends object>(before: Body, after: Body): Partial<Body> =>
  Object.fromEntries(
    Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof Body])),
  ) as Partial<Body>;

const firstName = (param: string) => param.replace(/[.[].*$/, '');

/** The label says which field it is, so that its technical name need not. */
function sentence(param: string, message: string): string {
  const rest = message.startsWith(param) ? message.slice(param.length).trim() : message;
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}
