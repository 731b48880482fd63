import { randomOf } from '../../../packages/testkit/src/random.ts';
import type { BulkAgent } from '../../../services/agents/test/bulk-agents.ts';

const words =
  `sales orders invoices customers products inventory suppliers payments employees leave requests quarterly monthly weekly daily revenue
  margin forecast report summary overview analysis by region category supplier customer product manager team overdue open closed
  pending shipped returned late early top bottom average total count share growth decline trend seasonal annual budget actual`.split(/\s+/);
const categories = ['finance', 'sales', 'inventory', 'purchasing', 'hr'];
const statuses = ['draft', 'active', 'inactive'];
const wordsOfOne = 15;

/** How many agents each of the searches finds. */
export const matches = 20;

/** Searches that find just so many: a word that nobody else has, common words in an order that nobody else has, and two characters. */
export const searches = {
  'a rare word': 'zebrafinch',
  'common words': 'actual seasonal payments',
  'two characters': '在庫',
} as const;

/** So many agents with believable texts, every search's matches spread evenly among them. */
export function agentsWithMatches(count: number): BulkAgent[] {
  const random = randomOf(7);
  const pick = (from: readonly string[]): string => from[random.below(from.length)] ?? '';
  const every = count / matches;
  const planted = Object.values(searches);
  const text = (): string => {
    const made = Array.from({ length: wordsOfOne }, () => pick(words)).join(' ');
    return made.includes(searches['common words']) ? text() : made;
  };
  return Array.from({ length: count }, (_, n) => {
    const found = planted[n % every];
    return {
      name: `${pick(words)} ${n}`,
      description: found === undefined ? text() : `${text()}, ${found}.`,
      category: pick(categories),
      status: pick(statuses),
    };
  });
}
