import type { Hold } from '../domain/state.ts';
import type { Part, PartKind, Slot } from './parts.ts';

const add = (slot: Slot) => `
    insert into holds (organization_id, environment, id, user_id, amount, deadline, state, charge, settled_as, refusal, created_at, ended_at)
    select $1, $2, id, user_id, amount, to_timestamp(deadline / 1000), state, charge, settled_as, refusal,
      to_timestamp(${slot(1)}::float8 / 1000), case when state <> 'open' then to_timestamp(${slot(1)}::float8 / 1000) end
    from guard, unnest(${slot(2)}::text[], ${slot(3)}::text[], ${slot(4)}::integer[], ${slot(5)}::float8[], ${slot(6)}::text[],
      ${slot(7)}::integer[], ${slot(8)}::bigint[], ${slot(9)}::jsonb[])
      as hold(id, user_id, amount, deadline, state, charge, settled_as, refusal)`;

const newHolds: PartKind = { name: 'held', size: 9, text: (slot) => `held as (${add(slot)})` };

// Always a conflict, and so always by the key: for an update joined with the arrays the planner may read the whole tenant.
const endedHolds: PartKind = {
  name: 'ended',
  size: 9,
  text: (slot) => `ended as (${add(slot)}
    on conflict (organization_id, environment, id) do update set state = excluded.state, charge = excluded.charge,
      settled_as = excluded.settled_as, ended_at = excluded.ended_at)`,
};

/** A batch happens at one instant: there its holds begin, and end. */
export const newHoldsOf = (holds: readonly Hold[]): Part => ({ kind: newHolds, values: valuesOf(holds[0]?.createdAt, holds) });

export const endedHoldsOf = (holds: readonly Hold[]): Part => ({ kind: endedHolds, values: valuesOf(holds[0]?.endedAt, holds) });

const valuesOf = (at: number | null | undefined, holds: readonly Hold[]): unknown[] => [
  at,
  holds.map(({ id }) => id),
  holds.map(({ userId }) => userId),
  holds.map(({ amount }) => amount),
  holds.map(({ deadline }) => deadline),
  holds.map(({ state }) => state),
  holds.map(({ charge }) => charge),
  holds.map(({ settledAs }) => settledAs),
  holds.map(({ refusal }) => (refusal === null ? null : JSON.stringify(refusal))),
];
