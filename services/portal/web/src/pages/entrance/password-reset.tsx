import { useRouter, useSearch } from '@tanstack/react-router';
import { portal } from '../../api/client.ts';
import { Button } from '../../ui/button.tsx';
import { notify } from '../../ui/feedback.tsx';
import { useApiForm } from '../../ui/form.tsx';
import { Entrance } from './entrance.tsx';
import { NewPasswordFields } from './new-password.tsx';

export function PasswordResetPage() {
  const { token = '' } = useSearch({ strict: false });
  const router = useRouter();
  const form = useApiForm({ password: '', repeated: '' }, async ({ password }) => {
    await portal('POST', '/password-reset', { token, password });
    notify('The password is set. Sign in with it.');
    router.history.replace('/sign-in');
  });
  return (
    <Entrance title="Set a new password" description="All your other sessions end with this.">
      <form className="stack" onSubmit={form.submit} noValidate>
        <NewPasswordFields form={form} />
        {form.failure}
        <Button type="submit" variant="primary" large wide busy={form.formState.isSubmitting}>
          Set the password
        </Button>
      </form>
    </Entrance>
  );
}
