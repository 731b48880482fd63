import type { User, UserBalance } from '@agent-service/client';
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { Users } from 'lucide-react';
import { useState } from 'react';
import { api, bodyOf, type Environment } from '../../api/client.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { Empty, Failure, notify, Skeleton } from '../../ui/feedback.tsx';
import { Figure } from '../../ui/figure.tsx';
import { SwitchField, TextField, useApiForm } from '../../ui/form.tsx';
import { formatNumber } from '../../ui/format.tsx';
import { type Column, Table, useCursorList } from '../../ui/table.tsx';

const userBalanceQuery = (environment: Environment, userId: string) =>
  queryOptions({
    queryKey: [environment, 'credits', 'user', userId],
    queryFn: async () =>
      (await bodyOf(api(environment).GET('/v1/credits/users/{user_id}/balance', { params: { path: { user_id: userId } } }))).data,
  });

/** The monthly share of one user alone. */
export function OwnShare({ userId }: { userId: string }) {
  const environment = useEnvironment();
  const { data, error, refetch } = useQuery(userBalanceQuery(environment, userId));
  if (error && !data) return <Failure cause={error} onRetry={() => void refetch()} />;
  return (
    <div className="figures">
      <Figure label="Your balance" value={data?.balance} note={balanceNote(data)} />
      <Figure label="Used this month" value={data?.used_this_month} note="Credits of your answers" />
      <Figure label="Monthly limit" value={data?.monthly_limit} note="Set by an administrator" />
    </div>
  );
}

/** An account is filled when it lacks the credits for an answer: a user without one has a limit, and a balance of 0. */
const balanceNote = (data: UserBalance | undefined) =>
  data?.balance === 0 && data.used_this_month < data.monthly_limit
    ? 'Filled by a message, up to your limit, from what the organization has'
    : 'Credits that are set aside for you';

/** Each row of a page reads one balance, so pages are small. */
const usersAtOnce = 20;

/** The monthly share of each user. */
export function EveryShare() {
  const environment = useEnvironment();
  const [acting, setActing] = useState<{ user: User; balance: UserBalance }>();
  const list = useCursorList([environment, 'users', 'allocations'], (cursor) =>
    bodyOf(api(environment).GET('/v1/users', { params: { query: { limit: usersAtOnce, ...(cursor && { cursor }) } } })),
  );
  return (
    <>
      <Table
        label="Allocations"
        columns={columnsOf(setActing)}
        rows={list.rows}
        isLoading={list.isLoading}
        rowKey={({ id }) => id}
        failure={list.failure}
        onRetry={list.refetch}
        empty={
          <Empty
            icon={Users}
            title="No users"
            actions={
              <ButtonLink to="/$environment/users" params={{ environment }}>
                Invite a user
              </ButtonLink>
            }
          >
            Each user is listed here with the credits that are set aside for the user.
          </Empty>
        }
      />
      {list.pager}
      {acting && <AllocationDialog {...acting} onClose={() => setActing(undefined)} />}
    </>
  );
}

type Act = (acting: { user: User; balance: UserBalance }) => void;

const columnsOf = (act: Act): Column<User>[] => [
  {
    id: 'user',
    header: 'User',
    cell: ({ name, email }) => (
      <>
        <div className="cell-title truncate" dir="auto">
          {name}
        </div>
        <div className="cell-note truncate">{email}</div>
      </>
    ),
  },
  {
    id: 'used',
    header: 'Used this month',
    width: '9rem',
    align: 'end',
    cell: ({ id }) => <BalanceCell userId={id} name="used_this_month" />,
  },
  { id: 'limit', header: 'Monthly limit', width: '9rem', align: 'end', cell: ({ id }) => <BalanceCell userId={id} name="monthly_limit" /> },
  { id: 'balance', header: 'Balance', width: '8rem', align: 'end', cell: ({ id }) => <BalanceCell userId={id} name="balance" /> },
  { id: 'change', header: 'Change', width: '8rem', align: 'end', cell: (user) => <ChangeButton user={user} onAct={act} /> },
];

function BalanceCell({ userId, name }: { userId: string; name: 'used_this_month' | 'monthly_limit' | 'balance' }) {
  const environment = useEnvironment();
  const { data, error } = useQuery(userBalanceQuery(environment, userId));
  if (error) return <span className="wrap small">{error.message}</span>;
  return data ? <span className="number">{formatNumber(data[name])}</span> : <Skeleton width="2.5rem" />;
}

function ChangeButton({ user, onAct }: { user: User; onAct: Act }) {
  const environment = useEnvironment();
  const { data } = useQuery(userBalanceQuery(environment, user.id));
  return (
    <Button disabled={!data} aria-label={`Allocate credits to ${user.name}`} onClick={() => data && onAct({ user, balance: data })}>
      Allocate
    </Button>
  );
}

interface DialogProps {
  user: User;
  balance: UserBalance;
  onClose: () => void;
}

function AllocationDialog({ user, balance, onClose }: DialogProps) {
  const environment = useEnvironment();
  const client = useQueryClient();
  const defaults = { monthly_limit: String(balance.monthly_limit), rollover_enabled: balance.rollover_enabled };
  const form = useApiForm(defaults, async (values) => {
    const path = { user_id: user.id };
    const body = { monthly_limit: Number(values.monthly_limit), rollover_enabled: values.rollover_enabled };
    await bodyOf(api(environment).PUT('/v1/credits/users/{user_id}/allocation', { params: { path }, body }));
    await client.invalidateQueries({ queryKey: [environment, 'credits'] });
    notify(`${user.name} may use ${formatNumber(body.monthly_limit)} credits a month.`);
    onClose();
  });
  return (
    <FormDialog
      title="Allocate credits"
      description={`${user.name} has used ${formatNumber(balance.used_this_month)} credits this month.`}
      onClose={onClose}
      form={form}
      action="Allocate"
    >
      <TextField
        label="Credits a month"
        type="number"
        inputMode="numeric"
        min={0}
        error={form.errorOf('monthly_limit')}
        {...form.register('monthly_limit', { required: 'Enter a number.' })}
      />
      <SwitchField
        control={form.control}
        name="rollover_enabled"
        label="Keep what is left"
        hint="Unused credits are added to the next month."
      />
    </FormDialog>
  );
}
