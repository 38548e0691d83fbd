/** A table's name in SQL: each level in quotes, because it may be a reserved word. */
export function quotedName(table: string): string {
  return table
    .split('.')
    .map((level) => `"${level.replaceAll('"', '""')}"`)
    .join('.')
}
