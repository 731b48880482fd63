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

/**
 * As the library does: a channel of a layer takes what it does not say itself from the same one of the view around it, and a second end, as x2, is of the
 * type of the first.
 */
function withWholeChannels(view: JsonObject, around: JsonObject = {}): JsonObject {
  const own = Object.entries(isObject(view.encoding) ? view.encoding : {});
  const all = { ...around, ...Object.fromEntries(own.map(([name, channel]) => [name, inheriting(channel, around[name])])) };
  const isSecondOfTime = (name: string) => name.endsWith('2') && isOfTime(all[name.slice(0, -1)]);
  const whole = (name: string, channel: Json) => (isSecondOfTime(name) ? inheriting(channel, { type: 'temporal' }) : channel);
  return {
    ...view,
    ...(view.encoding !== undefined && { encoding: Object.fromEntries(own.map(([name]) => [name, whole(name, all[name] ?? null)])) }),
    ...(Array.isArray(view.layer) && { layer: view.layer.filter(isObject).map((inner) => withWholeChannels(inner, all)) }),
  };
}

const isOfData = (node: JsonObject) => node.field !== undefined || node.datum !== undefined;

const inheriting = (channel: Json, outer: Json | undefined): Json =>
  isObject(channel) && isOfData(channel) && isObject(outer) ? { ...outer, ...channel } : channel;

/** True for what the library reads as times and shows in the time zone of the viewer. */
function isOfTime(channel: Json | undefined): boolean {
  if (!isObject(channel)) return false;
  const { type, timeUnit, formatType, axis, legend, scale } = channel;
  const types = [type, formatType, ...[axis, legend].map((guide) => isObject(guide) && guide.formatType), isObject(scale) && scale.type];
  const isTime = timeUnit !== undefined || types.some((one) => one === 'temporal' || one === 'time');
  return isTime && !JSON.stringify([timeUnit, scale]).includes('"utc');
}

function timeFields(node: Json | undefined): string[] {
  if (Array.isArray(node)) return node.flatMap(timeFields);
  if (!isObject(node)) return [];
  return [...(typeof node.field === 'string' && isOfTime(node) ? [node.field] : []), ...Object.values(node).flatMap(timeFields)];
}

/**
 * The library reads dates as UTC. Without an offset, each viewer sees the date and the time of day that the data has. A channel that shows them as something
 * else, as a tooltip does, reads the cells as they came from a column beside them, since the library replaces those that it reads as times.
 */
export function withLocalTimes({ spec, rows }: { spec: JsonObject; rows: JsonObject[] }): { spec: JsonObject; rows: JsonObject[] } {
  const whole = withWholeChannels(spec);
  const names = new Set(rows.flatMap(Object.keys));
  const fields = new Set(timeFields(whole));
  const isReplaced = (name: Json | undefined) => fields.has(name as string) && names.has(name as string);
  const localRow = (row: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(row).flatMap(([name, cell]) =>
        fields.has(name) ? [[name, localTime(cell)] as const, [asItCame(name), cell] as const] : [[name, cell] as const],
      ),
    );
  return { spec: withLocalDates(withCells(whole, isReplaced), fields) as JsonObject, rows: rows.map(localRow) };
}

const asItCame = (name: string) => `${name} as it came`;

function withCells(view: JsonObject, isReplaced: (name: Json | undefined) => boolean): JsonObject {
  const reading = (channel: Json): Json => {
    if (Array.isArray(channel)) return channel.map(reading);
    // An aggregate of either column is the same.
    if (!isObject(channel) || !isReplaced(channel.field) || isOfTime(channel) || channel.aggregate !== undefined) return channel;
    return { title: channel.field as string, ...channel, field: asItCame(channel.field as string) };
  };
  const groupings = (name: Json): Json[] => (isReplaced(name) ? [name, asItCame(name as string)] : [name]);
  const grouping = (step: Json): Json =>
    isObject(step) && Array.isArray(step.groupby) ? { ...step, groupby: step.groupby.flatMap(groupings) } : step;
  return {
    ...view,
    ...(isObject(view.encoding) && {
      encoding: Object.fromEntries(Object.entries(view.encoding).map(([name, channel]) => [name, reading(channel)])),
    }),
    ...(Array.isArray(view.transform) && { transform: view.transform.map(grouping) }),
    ...(Array.isArray(view.layer) && { layer: view.layer.filter(isObject).map((inner) => withCells(inner, isReplaced)) }),
  };
}

/** Dates of a filter, and of a channel with its scale, axis and legend. */
const dateKeys = new Set('equal lt lte gt gte range oneOf datum sort domain unionWith domainMin domainMax values'.split(' '));

/** A filter compares the texts of cells, and what it compares has no type. */
function withLocalDates(node: Json, fields: ReadonlySet<string>, isInTime = false): Json {
  if (Array.isArray(node)) return node.map((one) => withLocalDates(one, fields, isInTime));
  if (!isObject(node)) return node;
  const isTime = isOfTime(node) || (isOfData(node) ? fields.has(node.field as string) : isInTime);
  const dateOf = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(dateOf);
    return isObject(value) ? withLocalDates(value, fields, isTime) : localTime(value);
  };
  const localOf = (key: string, value: Json): Json => {
    if (!isTime || !dateKeys.has(key)) return withLocalDates(value, fields, isTime);
    // The library reads texts as times everywhere but here.
    return key === 'datum' && localTime(value) !== value ? Date.parse(localTime(value) as string) : dateOf(value);
  };
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, localOf(key, value)]));
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
