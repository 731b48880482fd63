import { z } from 'zod';

/** How callers write these lists, for the document; the parser also reads empty members. */
const listPattern = String.raw`^(\*|(W/)?"[!#-~]*"( ?, ?(W/)?"[!#-~]*")*)$`;

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
    .meta({ description, minLength: 1, pattern: listPattern });
}

export const ifMatch = entityTags('Has an effect only while the ETag of the agent is one of these; else 412.');
export const ifNoneMatch = entityTags('Answers 304 without a body while the ETag is one of these.');

/** The value of If-Match or If-None-Match (RFC 9110, section 8.8.3). */
export interface EntityTags {
  /** True for `*`, which matches any version. */
  readonly any: boolean;
  readonly tags: readonly { readonly weak: boolean; readonly value: string }[];
}

const tag = /^\s*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*(?:,|$)/;
const separators = /^[\s,]+/;
const version = /^[1-9]\d{0,8}$/;

/** The list of a header; undefined when it is none. */
export function parseEntityTags(header: string): EntityTags | undefined {
  if (header.trim() === '*') return { any: true, tags: [] };
  const tags: { weak: boolean; value: string }[] = [];
  let rest = header.replace(separators, '');
  while (rest !== '') {
    const match = tag.exec(rest);
    if (!match) return undefined;
    tags.push({ weak: match[1] !== undefined, value: match[2] ?? '' });
    rest = rest.slice(match[0].length).replace(separators, '');
  }
  return tags.length > 0 ? { any: false, tags } : undefined;
}

/** The tag of a version. */
export const entityTag = (of: number): string => `"${of}"`;

/** The versions that If-Match lets through; undefined for any version. The comparison is strong, so a weak tag matches none. */
export function versionsMeant({ any, tags }: EntityTags): number[] | undefined {
  if (any) return undefined;
  return tags.flatMap(({ weak, value }) => (!weak && version.test(value) ? [Number(value)] : []));
}

/** True if If-None-Match names the current version: weak comparison. */
export const isNamed = ({ any, tags }: EntityTags, current: number): boolean => any || tags.some(({ value }) => value === String(current));
