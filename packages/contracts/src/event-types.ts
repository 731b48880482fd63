interface EventDescription {
  /** When it happens, for people. */
  readonly meaning: string;
  /** The fields of `data` beside `organization_id`, which every event has. */
  readonly data: readonly string[];
}

/** Every kind of event that webhooks can subscribe to. docs/reference/events.md is written from it. */
export const eventDescriptions = {
  'agent.created': { meaning: 'an agent was created', data: ['agent', 'source_template_id'] },
  'agent.updated': { meaning: "an agent's configuration changed", data: ['agent', 'changed_fields'] },
  'agent.deleted': { meaning: 'an agent was deleted', data: ['agent_id', 'name', 'deleted_at'] },
  'conversation.completed': {
    meaning: 'a message was answered and charged',
    data: ['agent_id', 'conversation_id', 'message_id', 'user_id', 'credits_consumed', 'model_used', 'completed_at'],
  },
  'credits.low_balance': { meaning: "the organization's balance fell below the alert threshold", data: ['balance', 'threshold'] },
  'credits.depleted': { meaning: "the organization's balance reached zero", data: ['balance', 'depleted_at'] },
  'credits.replenished': { meaning: 'credits were granted or replenished', data: ['amount', 'balance', 'source'] },
  'user.registered': { meaning: 'a user was registered', data: ['user_id', 'role', 'registered_at'] },
  'user.deactivated': { meaning: 'a user was deactivated', data: ['user_id', 'deactivated_at'] },
} as const satisfies Record<string, EventDescription>;

export type EventType = keyof typeof eventDescriptions;

export const eventTypes = Object.keys(eventDescriptions) as [EventType, ...EventType[]];

export const isEventType = (name: string): name is EventType => Object.hasOwn(eventDescriptions, name);
