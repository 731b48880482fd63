import { useQuery } from '@tanstack/react-query';
import type { ComponentProps } from 'react';
import { usersQuery } from '../../api/lists.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { CutOption, SelectField } from '../../ui/form.tsx';

interface UserFieldProps extends Omit<ComponentProps<typeof SelectField>, 'label' | 'hint' | 'children'> {
  /** The option that is no user. */
  none: string;
}

/** Chooses the user whom a credential acts for. */
export function UserField({ none, error, ...rest }: UserFieldProps) {
  const { data: users, error: failure } = useQuery(usersQuery(useEnvironment()));
  const fault = failure && !users ? `The users could not be loaded. ${failure.message}` : undefined;
  return (
    <SelectField label="User" hint="Answers are charged to this user." error={error ?? fault} {...rest}>
      <option value="">{none}</option>
      {users?.rows.map(({ id, name, email }) => (
        <option key={id} value={id}>
          {name} ({email})
        </option>
      ))}
      <CutOption list={users} />
    </SelectField>
  );
}
