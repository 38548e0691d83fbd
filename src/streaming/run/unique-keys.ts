import { formatIdentifier } from '../../catalog/table-identifier.ts'
import type { Engine } from '../../engines/engine.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { currentSchema } from '../../iceberg/metadata/metadata.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { planFiles } from '../../iceberg/scan/scan.ts'
import { fieldRefusal } from '../../schemas/issues.ts'
import type { CompiledMerge } from '../sink/batch-query.ts'

const BOUNDS = { maxRows: 1, maxBytes: 100_000, maxTextLength: 200, seconds: 600, memoryBytes: 2 ** 30 }

/**
 * Refuses a sink in which several rows have the same key, with an example: merging would replace all of them by one row. Reads the key
 * columns of the whole table; returns warnings when that exceeds the limits.
 */
export async function checkUniqueKeys(engine: Engine, sink: Table, merge: CompiledMerge): Promise<readonly string[]> {
  const name = formatIdentifier(sink.identifier)
  let found: string | undefined
  try {
    found = await findDuplicate(engine, sink, merge)
  } catch (error) {
    if (!isIcebergError(error, 'LIMIT_EXCEEDED')) throw error
    return [`${name} is too large to find out whether each key is there once: a row replaces all rows with its key`]
  }
  if (found === undefined) return []
  const message = `${name} has ${found}: a row with this key would replace all of them; remove the duplicates first, or choose another key`
  throw fieldRefusal('UNPROCESSABLE', [{ path: 'sink_table', message }])
}

/** A key of several rows, and how many. */
async function findDuplicate(engine: Engine, sink: Table, { keyIds }: CompiledMerge): Promise<string | undefined> {
  const fields = keyIds.flatMap((id) => currentSchema(sink.metadata).fields.filter((field) => field.id === id))
  const inputs = await planFiles(sink)
  if (inputs.length === 0) return undefined
  const keys = keyIds.map((id) => `c${id}`)
  const isSet = keys.map((key) => `${key} IS NOT NULL`).join(' AND ')
  const texts = keys.map((key, at) => `CAST(${key} AS VARCHAR) AS k${at}`)
  const { rows } = await engine.queryRows({
    inputs: [{ name: 'sink', io: sink.io, metadata: sink.metadata, fields, columnsBy: 'id', inputs }],
    query: `SELECT ${texts.join(', ')}, count(*) AS n FROM sink WHERE ${isSet} GROUP BY ${keys.join(', ')} HAVING count(*) > 1 LIMIT 1`,
    columns: [
      ...keys.map((_, at) => ({ name: `k${at}`, engineType: 'VARCHAR', type: { kind: 'string' } as const })),
      { name: 'n', engineType: 'BIGINT', type: { kind: 'long' } as const },
    ],
    bounds: BOUNDS,
  })
  const [found] = rows
  if (found === undefined) return undefined
  const values = fields.map(({ name }, at) => `${name} ${String(found[at])}`).join(', ')
  return `${String(found.at(-1))} rows with the key ${values}`
}
