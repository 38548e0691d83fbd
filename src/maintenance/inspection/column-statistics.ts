import { giveTurn } from '../../lib/turns.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { loadManifests } from '../../iceberg/manifest/cache.ts'
import type { DataFile, ManifestFile } from '../../iceberg/manifest/manifest.ts'
import { manifestEntries } from '../../iceberg/manifest/reader.ts'
import { currentSchema, currentSnapshot } from '../../iceberg/metadata/metadata.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { isLive, liveFiles } from '../../iceberg/scan/scan.ts'
import { throwIfCancelled } from '../../iceberg/throw-if-cancelled.ts'
import { fieldPath, walkFields } from '../../iceberg/schema/schema.ts'
import { formatType } from '../../iceberg/schema/type-names.ts'
import { isNested, type PrimitiveType, type Value } from '../../iceberg/schema/types.ts'
import { valueFromBytes } from '../../iceberg/values/binary.ts'
import { compareValues, formatValue } from '../../iceberg/values/values.ts'

/** What the manifests say about a column. Counts are of data files, before deletes are applied; undefined: not known. */
export interface ColumnStatistics {
  readonly fieldId: number
  readonly path: string
  readonly type: string
  readonly values: number | undefined
  readonly nulls: number | undefined
  /** Compressed, in bytes. */
  readonly bytes: number | undefined
  /** At most the smallest value, and at least the greatest; writers may truncate texts. */
  readonly lower: string | undefined
  readonly upper: string | undefined
  /** Data files whose manifest has both bounds, or only NULL values. */
  readonly filesWithBounds: number
}

/** The columns of a table, and the data files that they were counted in. */
export interface TableStatistics {
  readonly dataFiles: number
  readonly rows: number
  readonly columns: readonly ColumnStatistics[]
}

/** Data files times columns of one run: about a minute of work. */
const MAX_CELLS = 20_000_000
/** Between two turns of other work: a few milliseconds. */
const CELLS_PER_TURN = 10_000

/**
 * Adds up the column metrics of all live data files of the current snapshot, one manifest after the other. Errors: `LIMIT_EXCEEDED` for
 * too many files and columns, before a manifest is read if the manifest list has the counts; `CANCELLED`; those of manifests and FileIO.
 */
export async function readColumnStatistics(table: Table, signal: AbortSignal): Promise<TableStatistics> {
  const snapshot = currentSnapshot(table.metadata)
  const manifests = snapshot === undefined ? [] : await loadManifests(table, snapshot)
  const schema = currentSchema(table.metadata)
  const leaves = [...walkFields(schema)].flatMap(({ field }) =>
    isNested(field.type) ? [] : [{ field, type: field.type }],
  )
  const sums = leaves.map(({ field, type }) => new ColumnSum(field.id, type))
  const total = { files: 0, rows: 0 }
  const wanted = manifests.filter(({ content }) => content === 'data')
  requireFewCells(wanted.reduce((files, manifest) => files + (liveFiles(manifest) ?? 0), 0) * leaves.length)
  for (const manifest of wanted) await addManifest({ table, manifest, signal, sums, total })
  const columns = sums.map((sum, at) => ({
    fieldId: sum.fieldId,
    path: fieldPath(schema, sum.fieldId) ?? '',
    type: formatType(leaves[at]?.type ?? { kind: 'unknown' }),
    ...sum.result(total.files),
  }))
  return { dataFiles: total.files, rows: total.rows, columns }
}

interface AddedManifest {
  readonly table: Table
  readonly manifest: ManifestFile
  readonly signal: AbortSignal
  readonly sums: readonly ColumnSum[]
  readonly total: { files: number; rows: number }
}

async function addManifest({ table, manifest, signal, sums, total }: AddedManifest): Promise<void> {
  throwIfCancelled(signal, 'adding up statistics')
  const bytes = await table.io.read(manifest.manifestPath)
  let cells = 0
  for (const entry of manifestEntries(bytes, { manifest, metadata: table.metadata })) {
    cells += sums.length + 1
    if (cells >= CELLS_PER_TURN) {
      cells = 0
      requireFewCells(total.files * sums.length)
      await giveTurn()
      throwIfCancelled(signal, 'adding up statistics')
    }
    if (!isLive(entry)) continue
    total.files += 1
    total.rows += entry.dataFile.recordCount
    for (const sum of sums) sum.add(entry.dataFile)
  }
}

function requireFewCells(cells: number): void {
  if (cells <= MAX_CELLS) return
  throw new IcebergError('LIMIT_EXCEEDED', `the table has more than ${MAX_CELLS} data files times columns to add up`)
}

/** One of the metrics of a column, which some files may lack. */
interface Count {
  sum: number
  files: number
}

class ColumnSum {
  readonly fieldId: number
  readonly #type: PrimitiveType
  readonly #values: Count = { sum: 0, files: 0 }
  readonly #nulls: Count = { sum: 0, files: 0 }
  readonly #bytes: Count = { sum: 0, files: 0 }
  #lower: Value | undefined
  #upper: Value | undefined
  #filesWithBounds = 0

  constructor(fieldId: number, type: PrimitiveType) {
    this.fieldId = fieldId
    this.#type = type
  }

  add(file: DataFile): void {
    const values = file.valueCounts?.get(this.fieldId)
    const nulls = file.nullValueCounts?.get(this.fieldId)
    count(this.#values, values)
    count(this.#nulls, nulls)
    count(this.#bytes, file.columnSizes?.get(this.fieldId))
    const lower = this.#bound(file.lowerBounds)
    const upper = this.#bound(file.upperBounds)
    if (lower !== undefined && upper !== undefined) {
      this.#filesWithBounds += 1
      if (this.#lower === undefined || compareValues(this.#type, lower, this.#lower) < 0) this.#lower = lower
      if (this.#upper === undefined || compareValues(this.#type, upper, this.#upper) > 0) this.#upper = upper
    } else if (values !== undefined && values === nulls) this.#filesWithBounds += 1
  }

  result(files: number): Omit<ColumnStatistics, 'fieldId' | 'path' | 'type'> {
    const known = ({ sum, files: counted }: Count): number | undefined => (counted === files ? sum : undefined)
    const isComplete = this.#filesWithBounds === files
    const text = (value: Value | undefined): string | undefined =>
      value === undefined || !isComplete ? undefined : formatValue(this.#type, value)
    return {
      values: known(this.#values),
      nulls: known(this.#nulls),
      bytes: known(this.#bytes),
      lower: text(this.#lower),
      upper: text(this.#upper),
      filesWithBounds: this.#filesWithBounds,
    }
  }

  /** A bound of a file, of the type that the column has now or of one that was promoted to it. */
  #bound(bounds: ReadonlyMap<number, Uint8Array> | undefined): Value | undefined {
    const bytes = bounds?.get(this.fieldId)
    if (bytes === undefined) return undefined
    try {
      const value = valueFromBytes(this.#type, bytes)
      return Number.isNaN(value) ? undefined : value // no bound (Iceberg spec, "Bounds")
    } catch {
      return undefined // damaged, or of a newer kind of bound
    }
  }
}

function count(total: Count, value: number | undefined): void {
  if (value === undefined) return
  total.sum += value
  total.files += 1
}
