import { rootOf, stemOf, stemsOfName } from '../words/words.ts';
import { type Column, columnOf, type Schema, type Table } from './schema.ts';

/** The roles of columns, judged by their names and kinds. */

export const isKey = ({ name }: Column): boolean => stemsOfName(name).at(-1) === 'id';

const hasStem = ({ name }: Column, pattern: RegExp): boolean => stemsOfName(name).some((stem) => pattern.test(stem));

export const datesOf = (table: Table): Column[] => table.columns.filter(({ kind }) => kind === 'date');
export const numbersOf = (table: Table): Column[] => table.columns.filter((column) => column.kind === 'number' && !isKey(column));

const due = /^(due|expected|deadline|promised|planned|target)$/;
const ends = /^(paid|received|shipped|delivered|discharged|returned|completed|closed|settled|left|finished|resolved|end|ended)$/;
const birth = /^(birth|born)$/;

/** Finds a column of a table once, since the interpretation of a question asks for it again and again. */
function once(find: (table: Table) => Column | undefined): (table: Table) => Column | undefined {
  const known = new WeakMap<Table, { readonly column: Column | undefined }>();
  return (table) => {
    const entry = known.get(table) ?? { column: find(table) };
    known.set(table, entry);
    return entry.column;
  };
}

/** The day by which something should have happened. */
export const dueDate = once((table) => datesOf(table).find((column) => hasStem(column, due)));

/** The day on which something was over; it is empty before. */
export const endDate = once((table) => datesOf(table).find((column) => hasStem(column, ends)));

/** The mark of rows that an application deleted and did not remove: a day, a truth value, or a flag such as 1 or Y. */
export const deletionColumn = once((table) =>
  table.columns.find(({ name, kind }) => {
    const words = stemsOfName(name).join(' ');
    const isFlag = /^(is )?(del|delete|deleted|removed) (flag|flg)$|^(is )?deleted$/.test(words);
    return isFlag || (/^(date|boolean)$/.test(kind) && /^(is |was )?(deleted|removed)( at| on| date)?$/.test(words));
  }),
);

/** How long such rows last, in days that the data counts itself, such as working days. */
export const daysColumn = (table: Table): Column | undefined => numbersOf(table).find(({ name }) => name === 'days');

export const birthDate = (table: Table): Column | undefined => datesOf(table).find((column) => hasStem(column, birth));

/** True for rows that `who` asks for; a scope may leave out the columns that tell. */
export const isPeople = ({ name, columns }: Table): boolean =>
  /^(customers|employees|doctors|patients|suppliers|users|people)$/.test(name) ||
  columns.some((column) => /^(full_name|first_name|last_name|(contact_)?email|date_of_birth|birth_?date)$/.test(column.name));

/** The name of what happens to a row later, and of what may happen to it again. */
const later =
  /^(next|until|cancell?\w*|void\w*|reject\w*|confirm\w*|approv\w+|verif\w+|churn\w*|expir\w+|archiv\w+|deactivat\w+|suspend\w*|terminat\w+)$/;

/** The day of a change of the row, or of its copy, which says nothing about what it stands for. */
const touched = /^(last|latest|updat\w*|modif\w+|chang\w+|sync\w*|import(ed)?|load(ed)?)$/;

/** True where rows of a table are such an event: cancellations are cancelled, and payments paid. */
function isEventOf({ name }: Table, stem: string): boolean {
  const noun = stemsOfName(name).at(-1) ?? '';
  const root = rootOf(stem);
  return rootOf(noun) === root || (noun.startsWith(root) && /^(l?ation|cation|ion|e?ment|al|e|y)$/.test(noun.slice(root.length)));
}

/** The day on which such a row begins. */
export function beginDate(table: Table): Column | undefined {
  const without = (columns: readonly Column[], pattern: RegExp) =>
    columns.filter(({ name }) => !stemsOfName(name).some((stem) => pattern.test(stem) && !isEventOf(table, stem)));
  const days = datesOf(table).filter((column) => column !== deletionColumn(table));
  const ofRows = days.filter((column) => !hasStem(column, due) && !hasStem(column, birth));
  const events = without(ofRows, touched);
  const begins = without(events, ends);
  const firsts = without(begins, later);
  const first = firsts.find((column) => hasStem(column, /^(start|scheduled|begin|order|issued|ordered)$/));
  return first ?? firsts[0] ?? begins[0] ?? events[0] ?? ofRows[0] ?? days[0];
}

/** True for days that are set down before they come. */
export const isPlanned = (name: string): boolean =>
  stemsOfName(name).some((stem) =>
    /^(due|expected?|start|begin|end|scheduled?|planned|deadline|expir\w+|valid|until|renew\w*|arriv\w+|depart\w*|appointment|event|held|book\w*|target|matur\w+)$/.test(
      stem,
    ),
  );

const money = /^(total|amount|price|cost|value|revenue|salary|limit|rate|fee|spend|income|budget|balance|wage|paid|discount|cents?)$/;
export const isMoney = (column: Column): boolean =>
  column.kind === 'number' &&
  hasStem(column, money) &&
  !hasStem(column, /^(percent|pct|day|count|quantity|unit?s)$/) &&
  !/percent/.test(column.name);

const noMoney =
  /^(count|number|quantity|qty|unit|piece|item|percent|pct|share|ratio|score|rating|rank|position|place|line|level|stock|version|attempt|year|quarter|month|week|day|hour|hr|minute|min|second|duration|age|weight|kg|size|length|width|height|depth|area|volume|capacity|distance|km|seat|population|latitude|longitude|lat|lon|lng)$/;
/** True for a number that may be an amount, since a column of currencies stands beside it: no word of its name says that it is another number. */
export const mayBeMoney = (column: Column): boolean =>
  column.kind === 'number' && !isKey(column) && (isMoney(column) || !hasStem(column, noMoney));

const amounts = /^(total|amount|value|price|salary|sum|fee|revenue)$/;

/** The number that a table is mostly about. */
export function mainNumber(table: Table): Column | undefined {
  const numbers = numbersOf(table);
  return (
    numbers.find(({ name }) => /^(line_)?(total|amount)$/.test(name)) ??
    numbers.find((column) => hasStem(column, amounts) && !hasStem(column, /^(paid|unit|cost|list)$/)) ??
    numbers.find((column) => hasStem(column, /^(quantity|price|day|rating|minute|rate)$/)) ??
    numbers[0]
  );
}

export const paidPart = (table: Table): Column | undefined =>
  numbersOf(table).find((column) => hasStem(column, /^paid$/) && hasStem(column, /^amount$/));
export const costColumn = (table: Table): Column | undefined => numbersOf(table).find((column) => hasStem(column, /^cost$/));
export const priceColumn = (table: Table): Column | undefined =>
  numbersOf(table).find((column) => hasStem(column, /^(price|revenue|income)$/) && !hasStem(column, /^cost$/));
/** True for the amount of one piece, such as a list price. */
export const isOfPiece = (column: Column): boolean => hasStem(column, /^(unit|list)$/);
export const quantityColumn = (table: Table): Column | undefined =>
  numbersOf(table).find((column) => hasStem(column, /^(quantity|stock|qty)$/) && !hasStem(column, /^(reorder|minimum|cost|price)$/));
export const paidDate = (table: Table): Column | undefined => datesOf(table).find((column) => hasStem(column, /^(paid|settled)$/));
export const statusColumn = (table: Table): Column | undefined =>
  table.columns.find(({ name, kind }) => kind === 'text' && /^(status|state)$/.test(name));

/** True for the column that names the currency of the amounts beside it. */
export const isCurrency = (column: Column): boolean =>
  column.kind === 'text' && hasStem(column, /^currency$/) && !hasStem(column, /^(name|symbol)$/);

const partsOfName = [/^(first|given|fore)_?name$/i, /^(last|family|sur)_?name$/i];

/** The column that people call a row by; both parts of a person's name where no column holds the whole one. */
export function labelColumns(table: Table): readonly Column[] {
  const preferred = ['name', 'full_name', 'title', 'label'];
  const named = preferred.flatMap((name) => columnOf(table, name) ?? [])[0];
  if (named) return [named];
  const texts = table.columns.filter(({ kind }) => kind === 'text');
  const label = texts.find(({ name }) => /(^|_)(number|code|sku|name)$/.test(name));
  const parts = partsOfName.flatMap((part) => texts.find(({ name }) => part.test(name)) ?? []);
  if (parts.length === partsOfName.length && (label === undefined || parts.includes(label))) return parts;
  const column = label ?? columnOf(table, 'id');
  return column ? [column] : [];
}

/** True for a column that people call a row by, or that is a part of it. */
export const isLabel = (table: Table, column: string): boolean => labelColumns(table).some(({ name }) => name === column);

/** The label of rows that one column names. */
export function labelColumn(table: Table): Column | undefined {
  const [label, ...parts] = labelColumns(table);
  return parts.length === 0 ? label : undefined;
}

/** Other words for names of tables. */
const tableSynonyms = new Map(
  Object.entries({
    customers: 'client|buyer|account',
    suppliers: 'vendor',
    employees: 'colleague|staff|worker|salesperson|sales rep|seller|team member|people|person|staff member|sales representative',
    leave_requests: 'leave|time off|absence|leave application|time off request|request',
    invoices: 'bill',
    products: 'article|item|good',
    inventory: 'stock item|stock|inventory|warehouse stock|stock level',
    purchase_orders: 'purchase|po|delivery',
    order_items: 'order line|line item',
    doctors: 'physician',
    appointments: 'visit',
    admissions: 'stay',
  }),
);

/** The names of a table, each as its stems. */
export const namesOf = (name: string): (readonly string[])[] => [
  stemsOfName(name),
  ...(tableSynonyms.get(name.toLowerCase())?.split('|') ?? []).map((phrase) => phrase.split(' ').map(stemOf)),
];

/** Other words for columns, also adjectives: the most expensive is the highest price. */
const columnSynonyms = new Map(
  Object.entries({
    lead_time_days: 'lead time',
    salary: 'salary|pay|wage|earn|paid',
    unit_price: 'price|most expensive|priciest|cheapest|least expensive|expensive|dearest',
    list_price: 'price|most expensive|priciest|cheapest|least expensive|expensive|dearest',
    unit_cost: 'cost',
    quantity_on_hand: 'stock|unit|quantity|stock level|unit on hand|on hand|unit in stock',
    stock_unit: 'stock',
    minimum_unit: 'minimum stock|minimum',
    discount_percent: 'discount',
    credit_limit: 'credit line|limit',
    rating: 'rated|rating',
    duration_minute: 'duration|minute',
    material_cost: 'material',
    city: 'live',
    sex: 'gender',
  }),
);

const currency = /^(eur|usd|gbp|chf|sek|nok|dkk|pln|jpy|cents?)$/;

const currencyWords = new Map(
  Object.entries({ euro: 'eur', eur: 'eur', dollar: 'usd', usd: 'usd', pound: 'gbp', gbp: 'gbp', franc: 'chf', chf: 'chf' }),
);

/** The currency that a word names, as columns end in it. */
export const currencyOfWord = (stem: string | undefined): string | undefined => currencyWords.get(stem ?? '');

/** The currency in which the name of a column ends. */
export const currencyAtEnd = (name: string): string | undefined => {
  const [, ...stems] = stemsOfName(name);
  const last = stems.at(-1) ?? '';
  return currency.test(last) ? last : undefined;
};

/** The names of a column, each as its stems; a currency at its end need not be said. */
export function namesOfColumn({ name, kind }: Column): (readonly string[])[] {
  const all = stemsOfName(name);
  const isEnding = all.length > 1 && (currency.test(all.at(-1) as string) || (kind === 'date' && /^(on|at)$/.test(all.at(-1) as string)));
  const stems = isEnding ? all.slice(0, -1) : all;
  const short =
    kind === 'number' && stems.length > 1 && !/^(id|day|unit|level|percent|hand|minute)$/.test(stems.at(-1) as string)
      ? [stems.slice(-1)]
      : [];
  const synonyms = (columnSynonyms.get(stems.join('_')) ?? columnSynonyms.get(name) ?? '').split('|').filter(Boolean);
  const whole = isEnding && kind === 'number' ? [all] : [];
  return [stems, ...short, ...whole, ...synonyms.map((phrase) => phrase.split(' ').map(stemOf))];
}

const verbForm = /(ed|ing|ment|ments|ion|ions|ipt|ipts|en|al)$/;
const verbsAsTheyAre =
  /^(due|paid|pay|pays|left|start|starts|begin|begins|end|ends|hire|hires|join|ship|discharge|discharges|employ|order|invoice|bill|register|sent|send|place|sold|receive|arrive|arrives|leavers|win|won|new|expect|admit|return|quit|request|buy|bought)$/;

/** The columns of days that a verb names: `admitted` and `admission` name admitted_on. */
export function daysOfVerb(word: string, schema: Schema): { table: Table; column: Column }[] {
  if (!verbForm.test(word) && !verbsAsTheyAre.test(word)) return [];
  const root = rootOf(word);
  return schema.flatMap((table) =>
    datesOf(table)
      .filter(({ name }) => stemsOfName(name).some((stem, at, { length }) => (at === 0 || length > 2) && rootOf(stem) === root))
      .map((column) => ({ table, column })),
  );
}
