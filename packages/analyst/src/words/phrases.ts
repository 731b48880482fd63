import { stemOf, wordSet } from './words.ts';

/** The effect of a word or phrase of English in a question, the same for all data. */
export type Tag =
  | 'by'
  | 'and'
  | 'or'
  | 'not'
  | 'without'
  | 'over'
  | 'under'
  | 'atLeast'
  | 'atMost'
  | 'between'
  | 'after'
  | 'before'
  | 'most'
  | 'least'
  | 'newest'
  | 'oldest'
  | 'count'
  | 'howMuch'
  | 'sum'
  | 'average'
  | 'median'
  | 'percent'
  | 'rate'
  | 'distinct'
  | 'compare'
  | 'growth'
  | 'why'
  | 'change'
  | 'trend'
  | 'which'
  | 'who'
  | 'howLong'
  | 'days'
  | 'late'
  | 'onTime'
  | 'times'
  | 'still'
  | 'now'
  | 'pronoun'
  | 'only'
  | 'continue'
  | 'catalog'
  | 'future'
  | 'worth'
  | 'age'
  | 'partly'
  | 'ascending'
  | 'descending'
  | 'when'
  | 'highest'
  | 'lowest'
  | 'exactly'
  | 'sorted'
  | 'unsupported';

const phrases: Readonly<Record<Tag, string>> = {
  by: 'by|per|each|every|across|for each|for every|in each|of each|with each|by each|from each|split by|split per|broken down by|grouped by|group by|split that by|depending on',
  and: 'and|&|but',
  or: 'or',
  not: 'not|never|no longer|neither|nor|not yet|nothing',
  without:
    'without|no|without any|except|except for|excluding|excluded|not have any|with no|not any|other than|apart from|not counting|not including|leaving out|outside|outside of|all but|everything but|but not',
  over: 'over|above|more than|greater than|higher than|exceeding|exceed|longer than|larger than|bigger than|worth more than|for over',
  under: 'under|below|less than|fewer than|lower than|smaller than|shorter than',
  atLeast: 'at least|no less than|minimum of',
  atMost: 'at most|at or below|no more than|up to|at or under',
  between: 'between',
  after: 'after',
  before: 'before',
  most: 'top|best|most often|most|greatest|maximum|max|strongest|leading',
  highest: 'highest|largest|biggest|longest|priciest|most expensive|dearest',
  least: 'bottom|worst|fewest|least|minimum|min|weakest',
  lowest: 'lowest|smallest|shortest|cheapest|least expensive',
  newest: 'newest|latest|most recent|most recently|recent|last|youngest',
  oldest: 'oldest|earliest|first',
  count: 'how many|number of|count|count of|number|amount of times',
  howMuch: 'how much|how much money|what amount|how high|how big',
  sum: 'total|sum|sum of|in total|altogether|sum up to|add up to|overall|total of|sum up',
  average: 'average|avg|mean|on average|typical|average of|typically',
  median: 'median|median of',
  percent:
    'percentage|percent|share|proportion|in percent|as a percentage|percentage of|share of|how many percent|what fraction|fraction|percent of',
  rate: 'rate',
  distinct: 'distinct|unique|different|separate|individual',
  compare:
    'compare|compared with|compared to|compared|versus|vs|against|comparison|than|relative to|compare with|compare to|difference between|how does',
  growth: 'grow|grew|grown|growth|grows|growing|up or down',
  why: 'why|what explain|what cause|what caused|what drove|what is behind|reason for',
  change:
    'change|changed|changes|drop|dropped|fall|fell|rise|rose|increase|increased|decrease|decreased|decline|declined|more|less|differ|different|difference|higher|lower|up|down',
  trend: 'trend|trends|developed|develop|development|over time|evolve|evolved|evolution|trend of',
  which: 'which|what',
  who: 'who|whom',
  when: 'when',
  howLong: 'how long|how many days|how old',
  days: 'day|days|time|duration|length|delay|time between',
  late: 'late|overdue|past due|behind schedule|past their due date|delayed|after the due date|after their due date|after its due date|past the due date|should have arrived already|too late|after the expected date|past due date',
  onTime: 'on time|on-time|in time|punctual|punctually|on schedule',
  times: 'time|times',
  still: 'still|yet|remaining|left to',
  now: 'currently|current|right now|at the moment|at present|presently',
  partly: 'partially|partly|in part|only in part|only part of|only partially|partial',
  pronoun: 'them|those|these|that|they|their|it|its|these ones|of them|of those|of these|those ones',
  only: 'only|just',
  continue: 'what about|how about|same for|the same for|now|instead|same|the same',
  catalog:
    'table|tables|column|columns|field|fields|schema|data do you have|data can you see|data is there|data are there|what data do you have',
  future: 'will|forecast|predict|going to|prediction|predicted|project|projected',
  worth: 'worth|value|worth of|value of',
  age: 'age|old|how old|age in year',
  ascending: 'ascending|lowest first|smallest first',
  descending: 'descending|highest first|largest first|sorted descending',
  exactly: 'exactly|precisely|equal|equal to|exact',
  sorted: 'sort by|sorted by|ranked by|rank by',
  // Words of grammar alone, which together change the meaning: no attempt accounts for them.
  unsupported:
    'about to|instead of|rather than|at what time|what time|as well as|both of|all their|all its|all of their|all of its|business day|working day|workday',
};

const longest = 5;

const tagsByPhrase = new Map<string, Tag[]>();
for (const [tag, list] of Object.entries(phrases) as [Tag, string][])
  for (const phrase of list.split('|')) {
    const key = phrase.split(' ').map(stemOf).join(' ');
    const tags = tagsByPhrase.get(key) ?? [];
    if (!tags.includes(tag)) tagsByPhrase.set(key, [...tags, tag]);
  }

/** The tags of a phrase, by its stems. */
export const tagsOf = (stems: readonly string[]): readonly Tag[] =>
  stems.length > longest ? [] : (tagsByPhrase.get(stems.join(' ')) ?? []);

/** Words of grammar, which name no data and have no effect. A word that is missing here is asked back about. */
const fillers = wordSet(`
  a an the of in on for to at as is are was were be been being do does did done have has had having with from into there here
  i i'd i'm we us our ours you your my me mine he she his her can could would shall may might let let's want like need needs please
  show list display give tell find see get got gets getting look fetch provide return report overview summary breakdown break split
  about all any some so right ever also it's what's who's how where whose this these
  ok okay hey hi hello well thing things kind sort ranked rank ranking sorted record records row rows entry entries figure figures result results
  make makes made take takes taken took happen happened say says exist exists use used using one ones bring brings brought
  come comes came go goes went been company business data already place placed does be then while via through within during
  calendar date dates who which what sale's person persons anything anyone money handle actually approximately approx roughly basically
  really simply quickly briefly kindly maybe perhaps possibly thanks thank cheers dear s split group grouped
  where put made having own it that put against set together`);

/** Pictures, and punctuation of other languages: they say nothing unless a value has them. */
const pictures = /^(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\u{FE0F}|\u{20E3}|[？。！¿¡‽])+$/u;

export const isFiller = (word: string): boolean => fillers.has(word) || pictures.test(word);
