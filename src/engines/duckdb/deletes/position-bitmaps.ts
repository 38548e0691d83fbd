import { PositionBitmap } from '../../../iceberg/puffin/position-bitmap.ts'
import type { BitmapChunk } from '../../../iceberg/puffin/position-bitmap.ts'

import type { DuckDbRun } from '../session/session.ts'
import { inputOfKey, positionOfKey } from '../scan/position-deletes.ts'

/** Positions of one container of a bitmap. */
const CONTAINER = 65_536

/**
 * Reads positions into one bitmap for each input. `rows` is a SELECT with the column `k` (`positionKey`), each once. The rows are
 * streamed in their order, so that JavaScript holds the positions of one container at a time besides the compressed bitmaps.
 */
export async function readBitmaps(run: DuckDbRun, rows: string): Promise<ReadonlyMap<number, PositionBitmap>> {
  const chunks = new Map<number, BitmapChunk[]>()
  let input = -1
  let base = -1
  let positions: number[] = []
  const flush = (): void => {
    const [chunk] = PositionBitmap.of(positions).chunks
    positions = []
    if (chunk === undefined) return
    const known = chunks.get(input)
    if (known === undefined) chunks.set(input, [chunk])
    else known.push(chunk)
  }
  const result = await run.stream(`
    SELECT ${inputOfKey('k')}::INTEGER AS f, ${positionOfKey('k')}::DOUBLE AS p FROM (${rows}) AS s ORDER BY k`)
  for (;;) {
    const chunk = await run.guarded(() => result.fetchChunk())
    if (!chunk || chunk.rowCount === 0) break
    const inputs = chunk.getColumnValues(0)
    for (const [row, value] of chunk.getColumnValues(1).entries()) {
      const position = Number(value)
      const from = position - (position % CONTAINER)
      const of = Number(inputs[row])
      if (of !== input || from !== base) {
        flush()
        input = of
        base = from
      }
      positions.push(position)
    }
  }
  flush()
  return new Map([...chunks].map(([of, own]) => [of, new PositionBitmap(own)]))
}
