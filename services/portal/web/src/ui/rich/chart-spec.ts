// Specifications come from a model, which may be hostile or misled: only that which draws the rows in the specification itself is kept, without
// expressions, and without numbers that would make the library enumerate a million of something. The library writes parts of a specification,
// such as dates and widths, into expressions of its own, so these are checked once it has written them.

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
interface JsonObject {
  [key: string]: Json;
}

const marks = ['arc', 'area', 'bar', 'boxplot', 'circle', 'line', 'point', 'rect', 'rule', 'square', 'text', 'tick', 'trail'];
const viewKeys = ['mark', 'encoding', 'layer', 'transform', 'title', 'description', 'resolve'];
const transforms = ['aggregate', 'groupby', 'fold', 'as', 'timeUnit', 'field', 'bin', 'joinaggregate', 'stack', 'sort', 'offset', 'filter'];
/** Addresses, expressions, interaction, counts without a bound, and a chart for each value of a column. */
const refusedKeys = new Set(
  [
    'url href link data datasets format loader usermeta $schema config projection params param bind',
    'expr signal labelExpr calculate test update selection impute density step steps extent cursor row column facet __proto__',
  ].flatMap((line) => line.split(' ')),
);
const countKeys = new Set(['tickCount', 'nice', 'maxbins', 'columns', 'symbolLimit', 'tickMinStep']);
const largestCount = 50;
const maxLayers = 10;
const maxListed = 200;
/** A fold makes as many rows of each row as it names columns. */
const maxFolded = 20;
const deepest = 10;
export const maxRows = 5_000;

const isObject = (value: Json | undefined): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A specification that is safe to draw with the rows that it holds; undefined where nothing can be drawn. */
export function safeSpec(input: unknown): { spec: JsonObject; rows: JsonObject[] } | undefined {
  if (!isObject(input as Json)) return undefined;
  const candidate = input as JsonObject;
  const rows = rowsOf(candidate.data);
  const view = safeView(candidate, 0);
  return rows.length > 0 && view ? { spec: view, rows } : undefined;
}

function rowsOf(data: Json | undefined): JsonObject[] {
  const values = isObject(data) && Array.isArray(data.values) ? data.values : [];
  return values.slice(0, maxRows).filter(isObject).map(flat);
}

/** Cells are values, and never objects. */
const flat = (row: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, typeof value === 'object' && value !== null ? JSON.stringify(value) : value]),
  );

function safeView(view: JsonObject, depth: number): JsonObject | undefined {
  if (depth > 2) return undefined;
  const result: JsonObject = {};
  for (const key of viewKeys) if (view[key] !== undefined) result[key] = view[key];
  if (Array.isArray(result.layer)) {
    const layers = result.layer
      .slice(0, maxLayers)
      .filter(isObject)
      .map((layer) => safeView(layer, depth + 1));
    result.layer = layers.filter((layer) => layer !== undefined);
    delete result.mark;
  } else {
    delete result.layer;
    const mark = safeMark(result.mark);
    if (mark === undefined) return undefined;
    result.mark = mark;
  }
  if (result.transform !== undefined) result.transform = safeTransforms(result.transform);
  return clean(result, 0) as JsonObject;
}

function safeMark(mark: Json | undefined): Json | undefined {
  const type = isObject(mark) ? mark.type : mark;
  return typeof type === 'string' && marks.includes(type) ? mark : undefined;
}

/** Filters are objects that compare a field; a text would be an expression. */
function safeTransforms(list: Json): Json {
  const objects = Array.isArray(list) ? list.slice(0, maxLayers).filter(isObject) : [];
  const safe = objects.filter(
    (one) => Object.keys(one).every((key) => transforms.includes(key)) && (one.filter === undefined || isObject(one.filter)),
  );
  // Rows that are folded twice multiply.
  const fold = safe.find((one) => one.fold !== undefined);
  return safe.flatMap((one) => {
    if (one.fold === undefined) return [one];
    return one === fold && Array.isArray(one.fold) ? [{ ...one, fold: one.fold.slice(0, maxFolded) }] : [];
  });
}

function clean(value: Json, depth: number): Json {
  if (depth > deepest) return null;
  if (Array.isArray(value)) return value.slice(0, maxListed).map((one) => clean(one, depth + 1));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]): [string, Json][] => {
      if (refusedKeys.has(key)) return [];
      if (countKeys.has(key)) return typeof inner === 'object' || typeof inner === 'string' ? [] : [[key, boundedCount(inner)]];
      return [[key, clean(inner, depth + 1)]];
    }),
  );
}

const boundedCount = (value: Json) => (typeof value === 'number' ? Math.min(value, largestCount) : value);

/** The fields that the library reads as times and shows in the time zone of the viewer. */
function timeFields(node: Json | undefined): string[] {
  if (Array.isArray(node)) return node.flatMap(timeFields);
  if (!isObject(node)) return [];
  const isTime = typeof node.field === 'string' && (node.type === 'temporal' || node.timeUnit !== undefined) && !isInUtc(node);
  return [...(isTime ? [node.field as string] : []), ...Object.values(node).flatMap(timeFields)];
}

const isInUtc = ({ timeUnit, scale }: JsonObject): boolean => JSON.stringify([timeUnit, scale]).includes('"utc');

/** The library reads dates as UTC. Without an offset, each viewer sees the date and the time of day that the data has. */
export function withLocalTimes({ spec, rows }: { spec: JsonObject; rows: JsonObject[] }): { spec: JsonObject; rows: JsonObject[] } {
  const fields = new Set(timeFields(spec));
  const localRow = (row: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, fields.has(name) ? localTime(cell) : cell]));
  return { spec: withLocalFilters(spec, fields) as JsonObject, rows: rows.map(localRow) };
}

const comparisons = new Set(['equal', 'lt', 'lte', 'gt', 'gte', 'range', 'oneOf']);

/** Filters compare the texts of cells. */
function withLocalFilters(node: Json, fields: ReadonlySet<string>): Json {
  if (Array.isArray(node)) return node.map((one) => withLocalFilters(one, fields));
  if (!isObject(node)) return node;
  const isOfTime = typeof node.field === 'string' && fields.has(node.field);
  const localOf = (value: Json): Json => (Array.isArray(value) ? value.map(localTime) : localTime(value));
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, isOfTime && comparisons.has(key) ? localOf(value) : withLocalFilters(value, fields)]),
  );
}

const isoTime =
  /^(\d{4})(-\d{2})?(-\d{2})?(?:(?<=-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) ?(?:Z|[+-]\d{2}(?::?\d{2}){0,2})?)?$/;

function localTime(cell: Json): Json {
  const [, year, month = '-01', day = '-01', time = '00:00'] = (typeof cell === 'string' && isoTime.exec(cell)) || [];
  return year === undefined ? cell : `${year}${month}${day}T${time}`;
}

/** The functions that the library calls in its own expressions. None costs more than its arguments are long, and none changes or reads anything but the chart. */
const ownFunctions = new Set(
  [
    'abs bandwidth ceil clamp domain floor flush gradient indexof inrange isArray isBoolean isDate isDefined isFinite isNumber isObject isString',
    'isValid join length lerp max min pow range round scale span sqrt time timeFormat timeUnitSpecifier toBoolean toDate toNumber toString utcFormat',
    'datetime year quarter month date week day dayofyear hours minutes seconds milliseconds',
    'utc utcyear utcquarter utcmonth utcdate utcweek utcday utcdayofyear utchours utcminutes utcseconds utcmilliseconds',
  ].flatMap((line) => line.split(' ')),
);

/** A number may be padded to any width. */
const maxNumberFormatLength = 4;

/** True if the expressions in a parsed chart call only what the library calls itself. A call in them may be a text of the specification. */
export function callsOwnFunctionsOnly(node: unknown): boolean {
  if (typeof node !== 'object' || node === null) return true;
  const { type, callee, arguments: inputs } = node as { type?: unknown; callee?: { name?: unknown }; arguments?: { value?: unknown }[] };
  if (type === 'CallExpression' && !isOwnCall(String(callee?.name), inputs?.[1]?.value)) return false;
  return Object.values(node).every(callsOwnFunctionsOnly);
}

/** Those of marks begin with an underscore. */
const isOwnCall = (name: string, numberFormat: unknown): boolean =>
  name === 'format'
    ? typeof numberFormat === 'string' && numberFormat.length <= maxNumberFormatLength
    : ownFunctions.has(name.replace(/^_/, ''));
