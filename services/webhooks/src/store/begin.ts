import type { Sql } from '@agent-service/store';
import type { DeliveryKey, EndpointKey } from './keys.ts';
import { toTimestamp } from './time.ts';

/** Longer than an attempt may take and be told of. */
export const leaseMs = 25_000;

export interface Claim extends DeliveryKey {
  claim: string;
}

export interface BegunRow {
  position: number;
  endpointId: string;
  url: string;
  eventId: string;
  body: string;
  secret: string;
  previousSecret: string | null;
  previousSecretUntil: string | null;
  receivedAt: string;
  attemptsMade: number;
}

const asRecords = (claims: readonly Claim[]) =>
  JSON.stringify(
    claims.map(({ organizationId, environment, deliveryId, claim }, position) => ({
      position,
      organization_id: organizationId,
      environment,
      id: deliveryId,
      claim,
    })),
  );

const wantedRecords = `wanted as (
  select * from jsonb_to_recordset($1::jsonb) as item (position integer, organization_id text, environment text, id text, claim text)
)`;

/** Leases those that a job was made for and that are still wanted; the same claim gets them again. */
export function beginDeliveries(sql: Sql, claims: readonly Claim[], now: number): Promise<BegunRow[]> {
  return sql<BegunRow>(
    `with ${wantedRecords}, taken as (
       update deliveries as delivery set state = 'sending', claim = wanted.claim, look_at = $2
       from wanted join endpoints as endpoint on endpoint.organization_id = wanted.organization_id and endpoint.environment = wanted.environment
       where delivery.organization_id = wanted.organization_id and delivery.environment = wanted.environment and delivery.id = wanted.id
         and endpoint.id = delivery.endpoint_id and endpoint.active and endpoint.deleted_at is null
         and delivery.created_at > coalesce(endpoint.void_before, '-infinity')
         and (delivery.state = 'armed' or (delivery.state = 'sending' and delivery.claim = wanted.claim))
       returning wanted.position, delivery.organization_id, delivery.environment, delivery.endpoint_id, delivery.event_id, delivery.attempts_made,
         endpoint.url, endpoint.secret, endpoint.previous_secret, endpoint.previous_secret_until
     )
     select taken.position, taken.endpoint_id as "endpointId", taken.url, taken.event_id as "eventId", event.body, taken.secret,
       taken.previous_secret as "previousSecret", taken.previous_secret_until as "previousSecretUntil", event.received_at as "receivedAt",
       taken.attempts_made as "attemptsMade"
     from taken join events as event
       on event.organization_id = taken.organization_id and event.environment = taken.environment and event.id = taken.event_id`,
    [asRecords(claims), toTimestamp(now + leaseMs)],
  );
}

/** The endpoints in whose lines these still stand although they are due: what rang was their alarm clock. */
export function linesOf(sql: Sql, claims: readonly Claim[], now: number): Promise<EndpointKey[]> {
  return sql<EndpointKey>(
    `with ${wantedRecords}
     select distinct delivery.organization_id as "organizationId", delivery.environment, delivery.endpoint_id as "endpointId"
     from wanted join deliveries as delivery
       on delivery.organization_id = wanted.organization_id and delivery.environment = wanted.environment and delivery.id = wanted.id
     where delivery.state = 'waiting' and delivery.due_at <= $2`,
    [asRecords(claims), toTimestamp(now)],
  );
}
