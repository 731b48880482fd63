import type { Tenant } from '../domain/tenant.ts';

export interface EndpointKey extends Tenant {
  readonly endpointId: string;
}

export interface DeliveryKey extends Tenant {
  readonly deliveryId: string;
}

export const endpointKeyText = ({ organizationId, environment, endpointId }: EndpointKey) =>
  `${organizationId}/${environment}/${endpointId}`;

/** Each once, in the one order in which everybody locks endpoints. */
export function distinctEndpoints(keys: Iterable<EndpointKey>): EndpointKey[] {
  const byText = new Map([...keys].map((key) => [endpointKeyText(key), key]));
  return [...byText.entries()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { organizationId, environment, endpointId }]) => ({ organizationId, environment, endpointId }));
}

/** The parameters of `unnest($1::text[], $2::text[], $3::text[])`. */
export const endpointColumns = (keys: readonly EndpointKey[]): [string[], string[], string[]] => [
  keys.map(({ organizationId }) => organizationId),
  keys.map(({ environment }) => environment),
  keys.map(({ endpointId }) => endpointId),
];
