/** Functions that user SQL may call, which share one reason. */
export interface FunctionGroup {
  readonly title: string
  /** Why a call can reach nothing but its arguments. */
  readonly why: string
  readonly names: ReadonlySet<string>
}

/**
 * Scalar functions and macros by subject, as docs/security.md#user-sql lists them. Left out are functions that read or affect
 * more than their arguments, and functions that deal with states of aggregates, types or sort keys as values.
 */
export const SCALAR_FUNCTIONS: readonly FunctionGroup[] = [
  {
    title: 'Operators',
    why: 'compute one value from their operands',
    names: words(`!__postfix !~~ !~~* % & && * ** + - ->> / // <-> << <=> <@ >> @ @> ^ ^@ | || ~ ~~ ~~* ~~~
      ilike_escape like_escape not_ilike_escape not_like_escape`),
  },
  {
    title: 'Numbers',
    why: 'compute a number from numbers; `random` is not seeded by users',
    names: words(`abs acos acosh add asin asinh atan atan2 atanh bit_count cbrt ceil ceiling cos cosh cot degrees divide
      even exp factorial fdiv floor fmod gamma gcd greatest greatest_common_divisor isfinite isinf isnan lcm least
      least_common_multiple lgamma ln log log10 log2 mod multiply nextafter pi pow power radians random round round_even
      roundbankers sign signbit sin sinh sqrt subtract tan tanh trunc xor`),
  },
  {
    title: 'Conditions',
    why: 'choose among their arguments; `error` fails the query with a text of its author',
    names: words('error nullif typeof'),
  },
  {
    title: 'Text',
    why: 'compute from texts; sizes, formats and replacements are constant and bounded',
    names: words(`ascii bar bit_length char_length character_length chr concat concat_ws contains damerau_levenshtein
      editdist3 ends_with format format_bytes formatreadabledecimalsize formatreadablesize hamming instr jaccard
      jaro_similarity jaro_winkler_similarity lcase left left_grapheme length length_grapheme levenshtein lower lpad ltrim
      mismatches nfc_normalize ord parse_dirname parse_dirpath parse_filename parse_formatted_bytes parse_path position
      prefix printf repeat replace reverse right right_grapheme rpad rtrim split split_part starts_with str_split
      string_split string_to_array strip_accents strlen strpos substr substring substring_grapheme suffix translate trim
      ucase unicode upper`),
  },
  {
    title: 'Regular expressions',
    why: 'match in linear time (RE2)',
    names: words(`regexp_escape regexp_extract regexp_extract_all regexp_full_match regexp_matches regexp_replace
      regexp_split_to_array regexp_split_to_table str_split_regex string_split_regex`),
  },
  {
    title: 'Bytes and encodings',
    why: 'turn bytes into text and back',
    names:
      words(`base64 bin bit_position bitstring decode encode from_base64 from_binary from_hex get_bit hex octet_length
      set_bit to_base to_base64 to_binary to_hex unbin unhex url_decode url_encode`),
  },
  {
    title: 'Hashes and ids',
    why: 'compute a digest of their arguments, or a random id',
    names: words(`gen_random_uuid hash md5 md5_number md5_number_lower md5_number_upper sha1 sha256 uuid
      uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7`),
  },
  {
    title: 'Dates and times',
    why: 'compute from times; the clock is the only other input',
    names: words(`age ago century current_date current_localtime current_localtimestamp date_add date_diff date_part
      date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear days_in_month
      decade epoch epoch_ms epoch_ns epoch_us era get_current_time get_current_timestamp hour isodow isoyear julian
      last_day make_date make_time make_timestamp make_timestamp_ms make_timestamp_ns make_timestamptz microsecond
      millennium millisecond minute month monthname nanosecond normalized_interval now quarter second strftime strptime
      time_bucket timezone timezone_hour timezone_minute to_centuries to_days to_decades to_hours to_microseconds
      to_millennia to_milliseconds to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years today
      transaction_timestamp try_strptime week weekday weekofyear year yearweek`),
  },
  {
    title: 'Lists and arrays',
    why: 'compute from lists; a function that calls an aggregate by name gets a constant name of this list',
    names:
      words(`aggregate apply array_aggr array_aggregate array_append array_apply array_cat array_concat array_contains
      array_cosine_distance array_cosine_similarity array_cross_product array_distance array_distinct array_dot_product
      array_extract array_filter array_grade_up array_has array_has_all array_has_any array_indexof array_inner_product
      array_intersect array_length array_negative_dot_product array_negative_inner_product array_pop_back array_pop_front
      array_position array_prepend array_push_back array_push_front array_reduce array_resize array_reverse
      array_reverse_sort array_select array_slice array_sort array_to_string array_to_string_comma_default
      array_transform array_unique array_value array_where array_zip filter flatten generate_series
      generate_subscripts grade_up len list_aggr list_aggregate list_any_value list_append list_apply
      list_approx_count_distinct list_avg list_bit_and list_bit_or list_bit_xor list_bool_and list_bool_or list_cat
      list_concat list_contains list_cosine_distance list_cosine_similarity list_count list_distance list_distinct
      list_dot_product list_element list_entropy list_extract list_filter list_first list_grade_up list_has list_has_all
      list_has_any list_histogram list_indexof list_inner_product list_intersect list_kurtosis list_kurtosis_pop list_last
      list_mad list_max list_median list_min list_mode list_negative_dot_product list_negative_inner_product list_pack
      list_position list_prepend list_product list_reduce list_resize list_reverse list_reverse_sort list_select list_sem
      list_skewness list_slice list_sort list_stddev_pop list_stddev_samp list_string_agg list_sum list_transform
      list_unique list_value list_var_pop list_var_samp list_where list_zip range reduce unnest`),
  },
  {
    title: 'Structs and maps',
    why: 'compute from structs and maps',
    names: words(`cardinality element_at map map_concat map_contains map_contains_entry map_contains_value map_entries
      map_extract map_extract_value map_from_entries map_keys map_values row struct_concat struct_contains struct_extract
      struct_extract_at struct_has struct_indexof struct_insert struct_keys struct_pack struct_position struct_update
      struct_values`),
  },
  {
    title: 'JSON',
    why: 'compute from JSON; a function that casts gets a constant structure with types of this page',
    names: words(`array_to_json from_json from_json_strict json json_array json_array_length json_contains json_exists
      json_extract json_extract_path json_extract_path_text json_extract_string json_keys json_merge_patch json_object
      json_pretty json_quote json_structure json_transform json_transform_strict json_type json_valid json_value
      row_to_json to_json`),
  },
]

/** Aggregates and window functions, macros that aggregate included. */
export const AGGREGATE_FUNCTIONS: readonly FunctionGroup[] = [
  {
    title: 'Aggregates',
    why: 'compute one value from the rows of a group; their states stay inside (`EXPORT_STATE` is refused)',
    names: words(`any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null
      arg_max_nulls_last arg_min arg_min_null arg_min_nulls_last argmax argmin array_agg avg bit_and bit_or bit_xor
      bitstring_agg bool_and bool_or corr count count_if count_star countif covar_pop covar_samp entropy favg first fsum
      geomean geometric_mean group_concat histogram histogram_exact json_group_array json_group_object
      json_group_structure kahan_sum kurtosis kurtosis_pop last list listagg mad max max_by mean median min min_by mode
      product quantile quantile_cont quantile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope
      regr_sxx regr_sxy regr_syy reservoir_quantile sem skewness stddev stddev_pop stddev_samp string_agg sum
      sum_no_overflow sumkahan var_pop var_samp variance wavg weighted_avg`),
  },
  {
    title: 'Windows',
    why: 'compute one value from the rows of a window',
    names: words(`cume_dist dense_rank fill first_value lag last_value lead nth_value ntile percent_rank rank rank_dense
      row_number`),
  },
]

/** Table functions, which produce their rows one after another from their arguments. */
export const TABLE_FUNCTIONS: FunctionGroup = {
  title: 'In FROM',
  why: 'produce rows from their arguments alone',
  names: words('generate_series json_each json_tree range unnest'),
}

/** Names of the functions that compute one value from one row. */
export const SCALAR_NAMES: ReadonlySet<string> = namesOf(SCALAR_FUNCTIONS)

/** Names of the functions that need the rows of a group or of a window. */
export const AGGREGATE_NAMES: ReadonlySet<string> = namesOf(AGGREGATE_FUNCTIONS)

function namesOf(groups: readonly FunctionGroup[]): ReadonlySet<string> {
  return new Set(groups.flatMap(({ names }) => [...names]))
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/))
}
