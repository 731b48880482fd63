import { ServiceError } from '@agent-service/contracts';

/** A message that its service always sends, although the wire format could leave it out. */
export function present<Message>(message: Message | null | undefined): Message {
  if (message === null || message === undefined)
    throw new ServiceError('internal', { cause: new Error('a service left out a part of its answer') });
  return message;
}
