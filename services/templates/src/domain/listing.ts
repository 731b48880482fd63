import type { Status, Template } from './template.ts';

/** Empty fields do not filter. */
export interface Filter {
  readonly category: string;
  readonly status: string;
  readonly search: string;
}

/** Where a template stands in the list. No two stand at the same place. */
export type Place = readonly [category: string, name: string, id: string];

export const placeOf = ({ category, name, id }: Template): Place => [category, name, id];

export function comparePlaces(one: Place, other: Place): number {
  for (const [index, part] of one.entries()) {
    const against = other[index] ?? '';
    if (part !== against) return part < against ? -1 : 1;
  }
  return 0;
}

export const inOrder = (templates: readonly Template[]): Template[] => templates.toSorted((a, b) => comparePlaces(placeOf(a), placeOf(b)));

/** Text in which letters differ no more in case. */
const fold = (text: string): string => Array.from(text.normalize('NFC'), (letter) => letter.toUpperCase().toLowerCase()).join('');

/** Those that fit, in the order that they come in. */
export function matching(
  templates: readonly Template[],
  { category, status, search }: Filter,
  statusOf: (id: string) => Status,
): Template[] {
  const needle = fold(search);
  return templates.filter(
    (template) =>
      (category === '' || template.category === category) &&
      (status === '' || statusOf(template.id) === status) &&
      (fold(template.name).includes(needle) || fold(template.description).includes(needle)),
  );
}

export interface Page {
  readonly templates: readonly Template[];
  /** The place behind which the next page begins; undefined on the last one. */
  readonly last: Place | undefined;
}

/** The page behind a place, of templates in order. */
export function pageOf(ordered: readonly Template[], after: Place | undefined, limit: number): Page {
  const rest = after ? ordered.filter((template) => comparePlaces(placeOf(template), after) > 0) : ordered;
  const templates = rest.slice(0, limit);
  const last = templates.at(-1);
  return { templates, last: rest.length > limit && last ? placeOf(last) : undefined };
}
