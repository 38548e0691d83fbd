import { IcebergError } from '../../../iceberg/errors.ts'
import type { DataFile } from '../../../iceberg/manifest/manifest.ts'
import type { TableMetadata } from '../../../iceberg/metadata/metadata.ts'
import type { FileScanTask } from '../../../iceberg/scan/scan.ts'

/** Refuses inputs that this engine cannot read completely (docs/iceberg-notes.md#unsupported-inputs). */
export function requireReadable(metadata: TableMetadata, inputs: readonly FileScanTask[]): void {
  if (metadata.encrypted) throw new IcebergError('UNSUPPORTED', 'the table is encrypted, its files cannot be read')
  for (const { dataFile, deletes } of inputs) {
    requireFormat(dataFile, ['parquet', 'avro'])
    for (const { file } of deletes) {
      requireFormat(file, file.content === 'position-deletes' ? ['parquet', 'avro', 'puffin'] : ['parquet', 'avro'])
    }
  }
}

function requireFormat(file: DataFile, formats: readonly string[]): void {
  if (file.keyMetadata !== undefined) {
    throw new IcebergError('UNSUPPORTED', `${file.filePath} has key metadata, so it is encrypted and cannot be read`)
  }
  if (formats.includes(file.fileFormat)) return
  throw new IcebergError(
    'UNSUPPORTED',
    `${file.filePath} is in format ${file.fileFormat}; the embedded engine reads ${formats.join(', ')} here`,
  )
}
