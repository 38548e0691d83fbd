/** What the end of a statement must not be looked for in: texts, names, comments. */
const OPAQUE = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\$([A-Za-z_]\w*)?\$[\s\S]*?\$\1\$|--[^\n]*|\/\*(?:[^*]|\*(?!\/))*\*\/|;/g

/**
 * One SQL statement without its semicolon and what comes after that. Of SQL that is no single statement, or has comments
 * within comments, the result may be anything: it has to be checked as the whole was.
 */
export function withoutSemicolon(sql: string): string {
  for (const match of sql.matchAll(OPAQUE)) if (match[0] === ';') return sql.slice(0, match.index).trim()
  return sql.trim()
}
