const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter(Boolean));

/**
 * Functions of pg_catalog that compute only from their arguments. None reads a table, a file, a setting, a statistic or the
 * session, none runs SQL from an argument, none changes anything.
 */
export const allowedFunctions: ReadonlySet<string> = words(`
  count sum avg min max every bool_and bool_or bit_and bit_or bit_xor any_value array_agg string_agg
  stddev stddev_pop stddev_samp variance var_pop var_samp corr covar_pop covar_samp
  regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
  mode percentile_cont percentile_disc rank dense_rank percent_rank cume_dist row_number ntile lag lead first_value last_value nth_value
  json_agg jsonb_agg json_object_agg jsonb_object_agg json_agg_strict jsonb_agg_strict range_agg range_intersect_agg

  abs sign ceil ceiling floor round trunc mod div power pow sqrt cbrt exp ln log log10 gcd lcm factorial pi degrees radians random
  sin cos tan cot asin acos atan atan2 sinh cosh tanh width_bucket scale min_scale trim_scale to_hex to_bin to_oct

  upper lower initcap length char_length character_length octet_length bit_length concat concat_ws format left right substring substr
  position strpos overlay replace translate reverse repeat lpad rpad ltrim rtrim btrim split_part starts_with ascii chr md5
  gen_random_uuid sha224 sha256 sha384 sha512 encode decode quote_literal quote_ident quote_nullable normalize is_normalized casefold unistr
  regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_count regexp_instr regexp_like regexp_substr
  string_to_array string_to_table like_escape similar_to_escape get_bit get_byte bit_count

  now clock_timestamp statement_timestamp transaction_timestamp age date_part date_trunc date_bin date_add date_subtract extract
  timezone to_char to_date to_timestamp to_number make_date make_time make_timestamp make_timestamptz make_interval
  isfinite justify_days justify_hours justify_interval overlaps

  array_append array_prepend array_cat array_length array_lower array_upper array_ndims array_dims cardinality array_position
  array_positions array_remove array_replace array_to_string array_reverse array_sort trim_array unnest generate_series generate_subscripts

  to_json to_jsonb row_to_json array_to_json json_build_object jsonb_build_object json_build_array jsonb_build_array json_object
  jsonb_object json_array_elements jsonb_array_elements json_array_elements_text jsonb_array_elements_text json_array_length
  jsonb_array_length json_each jsonb_each json_each_text jsonb_each_text json_object_keys jsonb_object_keys json_typeof jsonb_typeof
  json_extract_path jsonb_extract_path json_extract_path_text jsonb_extract_path_text json_to_record jsonb_to_record json_to_recordset
  jsonb_to_recordset json_strip_nulls jsonb_strip_nulls jsonb_set jsonb_insert jsonb_pretty jsonb_path_exists jsonb_path_match
  jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_path_exists_tz jsonb_path_match_tz jsonb_path_query_tz
  jsonb_path_query_array_tz jsonb_path_query_first_tz

  num_nulls num_nonnulls lower_inc upper_inc lower_inf upper_inf isempty range_merge
  int4range int8range numrange daterange tsrange tstzrange multirange
  host masklen network netmask broadcast family abbrev hostmask inet_same_family inet_merge
  to_tsvector to_tsquery plainto_tsquery phraseto_tsquery websearch_to_tsquery ts_rank ts_rank_cd ts_headline numnode querytree
  setweight strip

  text varchar bpchar bool int2 int4 int8 numeric float4 float8 date time timetz timestamp timestamptz interval money
`);

/**
 * Types of pg_catalog that a value may be cast to. Not allowed are types that look up names (regclass, oid), and shapes: PostgreSQL compares
 * all edges of two paths with each other, and neither a timeout nor a cancellation stops it.
 */
export const allowedTypes: ReadonlySet<string> = words(`
  bool int2 int4 int8 numeric float4 float8 money text varchar bpchar char date time timetz timestamp timestamptz interval
  json jsonb jsonpath uuid bytea bit varbit inet cidr macaddr macaddr8 point tsvector tsquery
  int4range int8range numrange daterange tsrange tstzrange
  int4multirange int8multirange nummultirange datemultirange tsmultirange tstzmultirange
`);

/** Operators of pg_catalog. */
export const allowedOperators: ReadonlySet<string> = words(`
  = <> != < > <= >= + - * / % ^ @ |/ ||/ ! & | # ~ << >> || ~~ !~~ ~~* !~~* ~* !~ !~* ^@
  -> ->> #> #>> @> <@ ? ?| ?& #- @? @@ && &< &> -|- <-> <<= >>= !!
`);
