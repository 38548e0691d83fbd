const NAME = String.raw`(?:"(?:[^"]|"")*"|[\p{L}_][\p{L}\p{N}_$]*)`
const AFTER_FROM = new RegExp(
  String.raw`\b(?:from|join)\s+(${NAME}(?:\s*\.\s*${NAME})*)(?:\s+(?:as\s+)?(${NAME}))?`,
  'giu',
)
/** Words that may follow a table and are no alias. */
const NO_ALIAS = /^(where|join|left|right|inner|full|cross|on|using|group|order|having|limit|union|natural|as|asof)$/i
const LEVEL = new RegExp(NAME, 'gu')

/** A table that a query names after FROM or JOIN. */
export interface NamedTable {
  /** Levels joined by dots, without quotes. */
  readonly table: string
  /** The alias, or the last level of the name. */
  readonly alias: string
}

/** The tables that the text of a query names, complete or not. */
export function namedTables(sql: string): readonly NamedTable[] {
  return [...sql.matchAll(AFTER_FROM)].map(([, name = '', alias]) => {
    const levels = [...name.matchAll(LEVEL)].map(([level]) => unquoted(level))
    const own = alias === undefined || NO_ALIAS.test(alias) ? levels.at(-1) : unquoted(alias)
    return { table: levels.join('.'), alias: own ?? '' }
  })
}

/** A name as SQL writes it: plain, or in double quotes. */
export function quotedName(name: string): string {
  return /^[a-z_][a-z0-9_]*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`
}

/** A table's name as SQL writes it; its levels contain no dots. */
export function quotedTable(table: string): string {
  return table.split('.').map(quotedName).join('.')
}

function unquoted(level: string): string {
  return level.startsWith('"') ? level.slice(1, -1).replaceAll('""', '"') : level
}
