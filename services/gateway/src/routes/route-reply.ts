import type { Stream } from '../http/reply.ts';

/** What an answer can have beyond a body. */
export interface ReplyParts {
  /** Another than the route's. */
  readonly status?: number;
  /** Names and values in turn. */
  readonly headers?: readonly string[];
  /** Written by this once the head is out, instead of a body. */
  readonly stream?: Stream;
}

/** An answer that is more than a body with the route's own status. */
export class RouteReply<Body> {
  readonly body: Body | undefined;
  readonly parts: ReplyParts;

  constructor(body: Body | undefined, parts: ReplyParts) {
    this.body = body;
    this.parts = parts;
  }
}

export const reply = <Body>(body: Body, parts: ReplyParts): RouteReply<Body> => new RouteReply(body, parts);

/** An answer without a body. */
export const bare = (parts: ReplyParts): RouteReply<never> => new RouteReply<never>(undefined, parts);
