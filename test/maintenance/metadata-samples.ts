import type { JsonObject, JsonValue } from '../../src/iceberg/json/lossless-json.ts'
import type { DataFile } from '../../src/iceberg/manifest/manifest.ts'
import { tableMetadataFromJson } from '../../src/iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../src/iceberg/metadata/metadata.ts'
import type { DeleteFileRef } from '../../src/iceberg/scan/delete-index.ts'
import type { FileScanTask } from '../../src/iceberg/scan/scan.ts'

export const MIB = 1024 * 1024

/** Columns: 1 id long, 2 region string, 3 ts timestamp, 4 price decimal(10,2), 5 tags list<string>, 6 n int. */
export function sampleMetadata(overrides: Record<string, JsonValue> = {}): TableMetadata {
  const json: JsonObject = {
    'format-version': 2,
    'table-uuid': '9c12d441-03fe-4693-9a96-a0705ddf69c1',
    location: '/warehouse/ns/t',
    'last-sequence-number': 0,
    'last-updated-ms': 1_700_000_000_000,
    'last-column-id': 10,
    'current-schema-id': 0,
    schemas: [
      {
        type: 'struct',
        'schema-id': 0,
        fields: [
          { id: 1, name: 'id', required: false, type: 'long' },
          { id: 2, name: 'region', required: false, type: 'string' },
          { id: 3, name: 'ts', required: false, type: 'timestamp' },
          { id: 4, name: 'price', required: false, type: 'decimal(10, 2)' },
          {
            id: 5,
            name: 'tags',
            required: false,
            type: { type: 'list', 'element-id': 7, element: 'string', 'element-required': false },
          },
          { id: 6, name: 'n', required: false, type: 'int' },
        ],
      },
    ],
    'default-spec-id': 0,
    'partition-specs': [{ 'spec-id': 0, fields: [] }],
    'last-partition-id': 1010,
    'default-sort-order-id': 0,
    'sort-orders': [{ 'order-id': 0, fields: [] }],
    properties: {},
    'current-snapshot-id': -1,
    snapshots: [],
    'snapshot-log': [],
    'metadata-log': [],
    ...overrides,
  }
  return tableMetadataFromJson(json)
}

export function partitionField(id: number, sourceId: number, transform: string): JsonObject {
  return { 'field-id': id, 'source-id': sourceId, name: `p${id}`, transform }
}

let fileNumber = 0

export function dataFile(overrides: Partial<DataFile> = {}): DataFile {
  fileNumber += 1
  return {
    content: 'data',
    filePath: `/warehouse/ns/t/data/f${fileNumber}.parquet`,
    fileFormat: 'parquet',
    specId: 0,
    partition: [],
    recordCount: 100,
    fileSizeInBytes: MIB,
    ...overrides,
  }
}

export function scanTask(overrides: Partial<DataFile> = {}, deletes: readonly DataFile[] = []): FileScanTask {
  const refs: DeleteFileRef[] = deletes.map((file) => ({ file, sequenceNumber: 2 }))
  return { dataFile: dataFile(overrides), sequenceNumber: 1, fileSequenceNumber: 1, deletes: refs }
}

export function deletionVector(recordCount: number): DataFile {
  return dataFile({
    content: 'position-deletes',
    fileFormat: 'puffin',
    recordCount,
    referencedDataFile: '/warehouse/ns/t/data/x.parquet',
    contentOffset: 4,
    contentSizeInBytes: 40,
  })
}
