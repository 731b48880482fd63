import type { User } from '@agent-service/client';
import type { ComponentProps } from 'react';
import { SelectField } from '../../ui/form.tsx';

export const roleNames: Record<User['role'], string> = { member: 'Member', admin: 'Administrator' };

/** Chooses what a user may do. */
export function RoleField(props: Omit<ComponentProps<typeof SelectField>, 'label' | 'children'>) {
  return (
    <SelectField label="Role" {...props}>
      <option value="member">{roleNames.member}: chats with agents</option>
      <option value="admin">{roleNames.admin}: manages everything</option>
    </SelectField>
  );
}
