/** Strings, names and comments, in which a semicolon does not end the statement; or a semicolon. */
const OPAQUE = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\$([A-Za-z_]\w*)?\$[\s\S]*?\$\1\$|--[^\n]*|\/\*(?:[^*]|\*(?!\/))*\*\/|;/g

/**
 * One SQL statement without its semicolon and everything after it. For SQL that is not a single statement, or that has
 * nested comments, the result is undefined: check it again before use.
 */
export function withoutSemicolon(sql: string): string {
  for (const match of sql.matchAll(OPAQUE)) if (match[0] === ';') return sql.slice(0, match.index).trim()
  return sql.trim()
}
