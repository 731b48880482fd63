const plainIdentifier = /^[a-z_][a-z0-9_$]*$/;

/** Words that PostgreSQL does not take as a table's or a column's name without quotes. */
const reserved = new Set(
  `all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation column concurrently
   constraint create cross current_catalog current_date current_role current_schema current_time current_timestamp current_user default
   deferrable desc distinct do else end except false fetch for foreign freeze from full grant group having ilike in initially inner
   intersect into is isnull join lateral leading left like limit localtime localtimestamp natural not notnull null offset on only or
   order outer overlaps placing primary references returning right select session_user similar some symmetric system_user table
   tablesample then to trailing true union unique user using variadic verbose when where window with between bigint bit boolean char
   character coalesce dec decimal exists extract float greatest grouping inout int integer interval json json_array json_arrayagg
   json_exists json_object json_objectagg json_query json_scalar json_serialize json_table json_value least merge_action national nchar
   none normalize nullif numeric out overlay position precision real row setof smallint substring time timestamp treat trim values
   varchar xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable`.split(/\s+/),
);

/** As it must be written in a statement. */
export const quoteIfNeeded = (name: string): string => (plainIdentifier.test(name) && !reserved.has(name) ? name : quote(name));

export const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;
