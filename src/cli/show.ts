import type { Call, OptionSpec } from './command.ts'
import { type Cell, jsonText, textList, textTable } from './text.ts'

/** The option of every command for programs. */
export const JSON_OPTION: Readonly<Record<string, OptionSpec>> = {
  json: { help: 'the answer of the service, as JSON' },
}

export interface Column<T> {
  readonly header: string
  readonly cell: (row: T) => Cell
}

/** Prints an answer as JSON, or its rows as a table. */
export function showRows<T>(
  { terminal, isSet }: Call,
  answer: unknown,
  {
    rows,
    columns,
    none,
  }: { readonly rows: readonly T[]; readonly columns: readonly Column<T>[]; readonly none: string },
): void {
  if (isSet('json')) return terminal.out(jsonText(answer))
  if (rows.length === 0) return terminal.note(none)
  const cells = rows.map((row) => columns.map(({ cell }) => cell(row)))
  terminal.out(
    textTable(
      columns.map(({ header }) => header),
      cells,
      terminal.width,
    ),
  )
}

/** Prints an answer as JSON, or as names and values. */
export function showPairs(
  { terminal, isSet }: Call,
  answer: unknown,
  pairs: readonly (readonly [string, Cell])[],
): void {
  terminal.out(isSet('json') ? jsonText(answer) : textList(pairs))
}
