import type { UseFormRegister } from 'react-hook-form';
import { TextField } from '../../ui/form.tsx';

interface PasswordForm {
  // biome-ignore lint/suspicious/noExplicitAny: forms with other fields too have these two.
  register: UseFormRegister<any>;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  errorOf: (name: any) => string | undefined;
}

const leastPasswordLength = 12;

/** A new password, typed twice. */
export function NewPasswordFields({ form, name = 'password' }: { form: PasswordForm; name?: string }) {
  const { register, errorOf } = form;
  return (
    <>
      <TextField
        label="New password"
        type="password"
        autoComplete="new-password"
        hint={`At least ${leastPasswordLength} characters. A few words are easier to remember than symbols.`}
        error={errorOf(name)}
        {...register(name, {
          minLength: { value: leastPasswordLength, message: `Use at least ${leastPasswordLength} characters.` },
          required: 'Enter a password.',
        })}
      />
      <TextField
        label="Repeat the password"
        type="password"
        autoComplete="new-password"
        error={errorOf('repeated')}
        {...register('repeated', {
          validate: (repeated: string, values: Record<string, string>) => repeated === values[name] || 'The two passwords differ.',
        })}
      />
    </>
  );
}
