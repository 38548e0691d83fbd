import { statSync } from 'node:fs'
import { DuckDBInstance } from '@duckdb/node-api'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import type { DataFile } from '../../../src/iceberg/manifest/manifest.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { parseSchema } from '../../../src/iceberg/schema/schema.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import { stageRowDelta } from '../../../src/iceberg/update/stage/stage-row-delta.ts'
import type { Lakehouse } from '../../interop/harness/lakehouse.ts'
import { localPath } from './independent-reader.ts'

/** Columns of {@link createOrders} that no test changes, by field id, with their SQL types. */
export const KEPT_COLUMNS = { 1: 'BIGINT', 3: 'DOUBLE', 4: 'TIMESTAMP' } as const

export const ORDERS_SCHEMA = parseSchema({
  type: 'struct',
  'schema-id': 0,
  fields: [
    { id: 1, name: 'id', required: false, type: 'long' },
    { id: 2, name: 'customer', required: false, type: 'string' },
    { id: 3, name: 'amount', required: false, type: 'double' },
    { id: 4, name: 'at', required: false, type: 'timestamp' },
    { id: 5, name: 'comment', required: false, type: 'string' },
  ],
})

export interface OrdersOptions {
  readonly name: string
  readonly appends: number
  readonly rowsPerAppend: number
  /** How many of the files get a position delete file each. */
  readonly filesWithDeletes?: number
}

/** Creates `faults.<name>`: one small file and one snapshot per append, then position deletes in one more. */
export async function createOrders(house: Lakehouse, options: OrdersOptions): Promise<Table> {
  const identifier = { namespace: ['faults'], name: options.name }
  const known = await house.catalog.listNamespaces()
  if (!known.some((namespace) => namespace.join('.') === 'faults')) await house.catalog.createNamespace(['faults'])
  await house.catalog.createTable(identifier, { schema: ORDERS_SCHEMA })
  for (let part = 0; part < options.appends; part++) {
    const first = part * options.rowsPerAppend
    await house.append(identifier, ordersQuery(first, first + options.rowsPerAppend))
  }
  if (options.filesWithDeletes) await deletePositions(house, identifier, options.filesWithDeletes)
  return house.catalog.loadTable(identifier)
}

function ordersQuery(first: number, end: number): string {
  return (
    `SELECT CAST(i AS BIGINT) AS c1, CASE WHEN i % 7 = 0 THEN NULL ELSE 'customer ' || (i % 97) END AS c2, ` +
    `i / 3.0::DOUBLE AS c3, TIMESTAMP '2026-01-01' + INTERVAL (i) SECOND AS c4, md5(CAST(i AS VARCHAR)) AS c5 ` +
    `FROM range(${first}, ${end}) AS t(i)`
  )
}

/** Commits position deletes of every tenth row of some files, written by DuckDB alone. */
async function deletePositions(house: Lakehouse, identifier: Table['identifier'], count: number): Promise<void> {
  const table = await house.catalog.loadTable(identifier)
  const tasks = (await planFiles(table)).slice(0, count)
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const deleteFiles: DataFile[] = []
  for (const [index, { dataFile }] of tasks.entries()) {
    const location = `${table.metadata.location}/data/deletes-${index}.parquet`
    await connection.run(
      `COPY (SELECT '${dataFile.filePath.replaceAll("'", "''")}' AS file_path, CAST(p AS BIGINT) AS pos ` +
        `FROM range(0, ${dataFile.recordCount}, 10) AS t(p)) TO '${localPath(location)}' ` +
        '(FORMAT parquet, FIELD_IDS {file_path: 2147483546, pos: 2147483545})',
    )
    deleteFiles.push({
      content: 'position-deletes',
      filePath: location,
      fileFormat: 'parquet',
      specId: dataFile.specId,
      partition: dataFile.partition,
      recordCount: Math.ceil(dataFile.recordCount / 10),
      fileSizeInBytes: statSync(localPath(location)).size,
    })
  }
  connection.closeSync()
  instance.closeSync()
  await commitTable(house.catalog, identifier, (fresh) =>
    stageRowDelta(fresh, { dataFiles: [], deleteFiles, operationId: 'seed-deletes' }),
  )
}
