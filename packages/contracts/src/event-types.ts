/** Every kind of event that webhooks can subscribe to. */
export const eventTypes = [
  'agent.created',
  'agent.updated',
  'agent.deleted',
  'conversation.completed',
  'credits.low_balance',
  'credits.depleted',
  'credits.replenished',
  'user.registered',
  'user.deactivated',
] as const;

export type EventType = (typeof eventTypes)[number];

export const isEventType = (name: string): name is EventType => (eventTypes as readonly string[]).includes(name);
