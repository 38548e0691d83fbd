import type { FileIO } from '../../../iceberg/io/file-io.ts'
import { IcebergError } from '../../../iceberg/errors.ts'
import { isDeletionVector, readDeletionVector } from '../../../iceberg/puffin/deletion-vector.ts'
import type { PositionBitmap } from '../../../iceberg/puffin/position-bitmap.ts'
import type { DeleteFileRef } from '../../../iceberg/scan/delete-index.ts'
import { mapBounded } from '../../../lib/bounded-map.ts'

import type { ScanInput } from '../scan/inputs.ts'
import { inputOfKey, positionOfKey } from '../scan/position-deletes.ts'
import { TableFiller } from '../scan/table-filler.ts'
import type { DuckDbRun } from '../session/session.ts'

/** The deletion vector of each data file that has one, by the number of the file. */
export type Vectors = ReadonlyMap<number, PositionBitmap>

/** Vectors that are read at the same time. */
const AT_ONCE = 8

/** Reads the deletion vectors of data files. `INVALID_METADATA` for a file with more than one. */
export async function readVectors(io: FileIO, inputs: readonly ScanInput[]): Promise<Vectors> {
  const vectors = new Map<number, PositionBitmap>()
  await mapBounded(inputs, AT_ONCE, async ({ index, file, task }) => {
    const [vector, ...others] = task.deletes.filter((ref) => isDeletionVector(ref.file))
    if (others.length > 0) {
      throw new IcebergError('INVALID_METADATA', `${file.filePath} has more than one deletion vector`)
    }
    if (vector !== undefined) vectors.set(index, await readDeletionVector(io, vector.file))
  })
  return vectors
}

/** The data files with their other deletes. */
export function withoutVectors(inputs: readonly ScanInput[]): readonly ScanInput[] {
  return withDeletes(inputs, ({ file }) => !isDeletionVector(file))
}

/** The data files with their equality deletes only. */
export function withoutPositions(inputs: readonly ScanInput[]): readonly ScanInput[] {
  return withDeletes(inputs, ({ file }) => file.content !== 'position-deletes')
}

function withDeletes(inputs: readonly ScanInput[], isKept: (ref: DeleteFileRef) => boolean): readonly ScanInput[] {
  return inputs.map((input) => {
    const deletes = input.task.deletes.filter(isKept)
    return deletes.length === input.task.deletes.length ? input : { ...input, task: { ...input.task, deletes } }
  })
}

/**
 * Removes the rows from a table that vectors delete: looking up the few rows that match a key is cheaper than loading every position of
 * the vectors. `table` has a column `k` (`positionKey`).
 */
export async function removeDeleted(run: DuckDbRun, table: string, vectors: Vectors): Promise<void> {
  if (vectors.size === 0) return
  const deleted = `${table}_deleted`
  await run.execute(`CREATE TEMP TABLE ${deleted} (k BIGINT)`)
  const dead = await deletedKeys(run, table, vectors)
  await TableFiller.fill(run, deleted, async (filler) => {
    for (const key of dead) {
      const turn = filler.add([key])
      if (turn) await turn
    }
  })
  await run.execute(`DELETE FROM ${table} WHERE k IN (SELECT k FROM ${deleted})`)
}

async function deletedKeys(run: DuckDbRun, table: string, vectors: Vectors): Promise<readonly bigint[]> {
  const dead: bigint[] = []
  const files = [...vectors.keys()].join(', ')
  const result = await run.stream(`
    SELECT ${inputOfKey('k')}::INTEGER AS f, ${positionOfKey('k')}::DOUBLE AS p, k FROM ${table}
    WHERE ${inputOfKey('k')} IN (${files})`)
  for (;;) {
    const chunk = await run.guarded(() => result.fetchChunk())
    if (!chunk || chunk.rowCount === 0) return dead
    const [inputs, positions, keys] = [0, 1, 2].map((column) => chunk.getColumnValues(column))
    for (const [row, position] of (positions ?? []).entries()) {
      if (vectors.get(Number(inputs?.[row]))?.has(Number(position)) === true) dead.push(BigInt(String(keys?.[row])))
    }
  }
}
