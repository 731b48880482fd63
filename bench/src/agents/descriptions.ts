import { randomFrom } from '@agent-service/testkit/random';
import type { BulkAgent } from '../../../services/agents/test/bulk-agents.ts';

const words =
  `sales orders invoices customers products inventory suppliers payments employees leave requests quarterly monthly weekly daily revenue
  margin forecast report summary overview analysis by region category supplier customer product manager team overdue open closed
  pending shipped returned late early top bottom average total count share growth decline trend seasonal annual budget actual`.split(/\s+/);
const categories = ['finance', 'sales', 'inventory', 'purchasing', 'hr'];
const statuses = ['draft', 'active', 'inactive'];
const wordsOfOne = 15;

/** The number of agents that each search finds. */
export const matches = 20;

/** Searches with that many matches: a word that no other text has, common words in an order that no other text has, and two characters. */
export const searches = {
  'a rare word': 'zebrafinch',
  'common words': 'actual seasonal payments',
  'two characters': '在庫',
} as const;

/** Agents with believable texts, every search's matches spread evenly among them. */
export function agentsWithMatches(count: number): BulkAgent[] {
  const random = randomFrom(7);
  const pick = (from: readonly string[]): string => from[random.below(from.length)] ?? '';
  const every = count / matches;
  const planted = Object.values(searches);
  const text = (): string => {
    const sample = Array.from({ length: wordsOfOne }, () => pick(words)).join(' ');
    return sample.includes(searches['common words']) ? text() : sample;
  };
  return Array.from({ length: count }, (_, n) => {
    const match = planted[n % every];
    return {
      name: `${pick(words)} ${n}`,
      description: match === undefined ? text() : `${text()}, ${match}.`,
      category: pick(categories),
      status: pick(statuses),
    };
  });
}
