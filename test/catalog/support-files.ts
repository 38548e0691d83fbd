import type { Catalog, CommitRequest } from '../../src/catalog/catalog.ts'
import type { FileIO } from '../../src/iceberg/io/file-io.ts'
import type { Schema } from '../../src/iceberg/schema/schema.ts'
import type { Table, TableIdentifier } from '../../src/iceberg/metadata/table.ts'
import type { StagedChange } from '../../src/iceberg/update/table-update.ts'

export const SCHEMA: Schema = {
  schemaId: 0,
  fields: [
    { id: 1, name: 'id', required: true, type: { kind: 'long' } },
    { id: 2, name: 'name', required: false, type: { kind: 'string' } },
  ],
  identifierFieldIds: [],
}

export const EVENTS: TableIdentifier = { namespace: ['db'], name: 'events' }

/** A staged change that sets one property and writes no file. */
export function setProperty(key: string, value: string) {
  return async (table: Table): Promise<StagedChange> => ({
    requirements: [{ type: 'assert-table-uuid', uuid: table.metadata.tableUuid }],
    updates: [{ action: 'set-properties', updates: { [key]: value } }],
    writtenFiles: [],
  })
}

/** One commit without retries; throws the error of a commit that was not applied. */
export async function commitOnce(
  catalog: Catalog,
  identifier: TableIdentifier,
  request: CommitRequest,
): Promise<Table> {
  const outcome = await catalog.commit(identifier, request)
  if (outcome.kind === 'committed') return outcome.table
  throw outcome.error
}

/** Creates the namespace and the table. */
export async function createEvents(
  catalog: Catalog,
  properties: Readonly<Record<string, string>> = {},
): Promise<Table> {
  await catalog.createNamespace(EVENTS.namespace)
  return catalog.createTable(EVENTS, { schema: SCHEMA, properties })
}

export async function filesBelow(io: FileIO, location: string): Promise<string[]> {
  const found: string[] = []
  for await (const file of io.list(location)) found.push(file.location)
  return found.sort()
}
