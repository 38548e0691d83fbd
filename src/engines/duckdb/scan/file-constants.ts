/**
 * Values that differ between the files of one scan: each becomes one literal if all files agree, arithmetic on the
 * file's number if they are consecutive, else a column of a small table joined by that number.
 */
export class FileConstants {
  readonly #fileNumber: string
  readonly #columns: (readonly string[])[] = []

  /** `fileNumber` is the SQL of the file's position in the scan. */
  constructor(fileNumber: string) {
    this.#fileNumber = fileNumber
  }

  /** SQL for a value given as one SQL literal per file. */
  column(literals: readonly string[]): string {
    const [first] = literals
    if (first === undefined) return 'NULL'
    if (literals.every((literal) => literal === first)) return first
    const known = this.#columns.findIndex((column) => column.every((literal, at) => literal === literals[at]))
    const at = known >= 0 ? known : this.#columns.push(literals) - 1
    return `k.v${at}`
  }

  /** SQL for an integer per file. */
  integer(values: readonly number[]): string {
    const first = values[0] ?? 0
    if (values.length > 1 && values.every((value, at) => value === first + at))
      return `(${this.#fileNumber} + ${first})`
    return this.column(values.map((value) => `${value}::BIGINT`))
  }

  /** The join that brings the table in; empty when no value needed it. */
  join(): string {
    if (this.#columns.length === 0) return ''
    const files = this.#columns[0]?.length ?? 0
    const rows = Array.from({ length: files }, (_, file) => {
      return `(${[`${file}::BIGINT`, ...this.#columns.map((column) => column[file] ?? 'NULL')].join(', ')})`
    })
    const names = ['f', ...this.#columns.map((_, at) => `v${at}`)]
    return `LEFT JOIN (VALUES ${rows.join(', ')}) AS k(${names.join(', ')}) ON k.f = ${this.#fileNumber}`
  }
}
