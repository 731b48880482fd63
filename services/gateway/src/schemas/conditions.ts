import { z } from 'zod';
import { type EntityTags, parseEntityTags } from '../http/entity-tags.ts';

/** A header with a list of entity tags. */
function entityTags(description: string) {
  return z
    .string()
    .transform((header, context): EntityTags => {
      const tags = parseEntityTags(header);
      if (tags) return tags;
      context.addIssue({ code: 'custom', message: 'must be * or a list of entity tags, as "1"' });
      return z.NEVER;
    })
    .optional()
    .meta({ description });
}

export const ifMatch = entityTags('Changes the agent only while its ETag is one of these; else 412.');
export const ifNoneMatch = entityTags('Answers 304 without a body while the ETag is one of these.');
