/** Ordinary types by their ids in DuckDB's syntax tree; values of other types could be states, pointers or types. */
export const TYPE_IDS: ReadonlySet<string> = new Set([
  'ARRAY',
  'BIGINT',
  'BIGNUM',
  'BIT',
  'BLOB',
  'BOOLEAN',
  'DATE',
  'DECIMAL',
  'DOUBLE',
  'FLOAT',
  'HUGEINT',
  'INTEGER',
  'INTERVAL',
  'LIST',
  'MAP',
  'NULL',
  'SMALLINT',
  'STRUCT',
  'TIME',
  'TIME WITH TIME ZONE',
  'TIMESTAMP',
  'TIMESTAMP WITH TIME ZONE',
  'TIMESTAMP_MS',
  'TIMESTAMP_NS',
  'TIMESTAMP_S',
  'TIME_NS',
  'TINYINT',
  'UBIGINT',
  'UHUGEINT',
  'UINTEGER',
  'UNBOUND', // found by its name, see NAMED_TYPES
  'USMALLINT',
  'UTINYINT',
  'UUID',
  'VARCHAR',
])

/** Types that the parser leaves to be found by their name. */
export const NAMED_TYPES: ReadonlySet<string> = new Set(['JSON'])

/** Types that are made of other types, which a text names otherwise. */
const NESTED_TYPES = ['ARRAY', 'LIST', 'MAP', 'STRUCT', 'UNBOUND']
/** Usual other names of simple types. */
const OTHER_NAMES =
  'BOOL BYTEA CHAR DATETIME FLOAT4 FLOAT8 INT INT1 INT2 INT4 INT8 LOGICAL LONG NUMERIC REAL SHORT STRING TEXT ' +
  'TIMESTAMPTZ TIMESTAMP_US TIMETZ'
/** Names of simple types in texts, such as the structure of `from_json`. */
const TEXT_TYPES: ReadonlySet<string> = new Set([
  ...[...TYPE_IDS].filter((id) => !NESTED_TYPES.includes(id)),
  ...NAMED_TYPES,
  ...OTHER_NAMES.split(' '),
])
const TEXT_TYPE = /^\s*([A-Za-z][A-Za-z0-9_ ]*?)\s*(?:\(\s*\d{1,4}\s*(?:,\s*\d{1,4}\s*)?\))?\s*(?:\[\d{0,4}\]\s*)*$/

/** Whether a text names a simple type that is allowed, or a list of it, such as `DECIMAL(10, 2)` or `VARCHAR[]`. */
export function isAllowedTypeText(text: string): boolean {
  const [, name] = TEXT_TYPE.exec(text) ?? []
  return name !== undefined && TEXT_TYPES.has(name.toUpperCase())
}

/** A collation of DuckDB (`nocase`, `noaccent`, `nfc`, `binary`) or of a language (`de`, `de_at`), or several with dots. */
const COLLATION =
  /^(?:binary|nocase|noaccent|nfc|[a-z]{2,3}(?:_[a-z]{2})?)(?:\.(?:nocase|noaccent|nfc|[a-z]{2,3}(?:_[a-z]{2})?))*$/i

/** Whether a text names a collation. */
export function isCollation(text: string): boolean {
  return COLLATION.test(text)
}
