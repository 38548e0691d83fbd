import { IcebergError } from '../errors.ts'
import { locationKey } from '../io/location-identity.ts'
import type { DataFile } from '../manifest/manifest.ts'
import type { TableMetadata } from '../metadata/metadata.ts'
import { isUnpartitioned, partitionKey, partitionType } from '../partitioning/partitioning.ts'
import type { PartitionSpec } from '../partitioning/partitioning.ts'
import type { PrimitiveType } from '../schema/types.ts'

/** Reserved field id of the `file_path` column of position delete files (Iceberg spec, "Reserved Field IDs"). */
const DELETE_FILE_PATH_ID = 2_147_483_546

/** Identifies a live file entry: its location and, for deletion vectors, the position in the file. */
export function fileKey(file: DataFile): string {
  const key = locationKey(file.filePath)
  return file.contentOffset === undefined ? key : `${key}#${file.contentOffset}`
}

/** The one data file that a delete file applies to, or undefined when it may apply to several. */
export function referencedDataFile(file: DataFile): string | undefined {
  if (file.content !== 'position-deletes') return undefined
  if (file.referencedDataFile !== undefined) return file.referencedDataFile
  const lower = file.lowerBounds?.get(DELETE_FILE_PATH_ID)
  const upper = file.upperBounds?.get(DELETE_FILE_PATH_ID)
  if (lower === undefined || upper === undefined || !equalBytes(lower, upper)) return undefined
  return new TextDecoder().decode(lower)
}

/** Distinguishes partitions of a table over all its specs; partition types are resolved once per spec. */
export class PartitionScopes {
  readonly #metadata: TableMetadata
  readonly #specs = new Map<number, { readonly spec: PartitionSpec; readonly types: readonly PrimitiveType[] }>()

  constructor(metadata: TableMetadata) {
    this.#metadata = metadata
  }

  /** The spec of a file; `INVALID_METADATA` when the table has none of that id. */
  specOf(file: DataFile): PartitionSpec {
    return this.#entry(file).spec
  }

  /** Key of a file's spec and partition tuple: equal keys, same partition. */
  keyOf(file: DataFile): string {
    const { spec, types } = this.#entry(file)
    if (file.partition.length !== spec.fields.length) {
      throw new IcebergError(
        'INVALID_METADATA',
        `${file.filePath} has ${file.partition.length} partition values, spec ${spec.specId} has ${spec.fields.length}`,
      )
    }
    return partitionKey(spec, types, file.partition)
  }

  /** Whether an equality delete file applies to the whole table: its spec is unpartitioned. */
  isGlobal(file: DataFile): boolean {
    return file.content === 'equality-deletes' && isUnpartitioned(this.specOf(file))
  }

  #entry(file: DataFile): { readonly spec: PartitionSpec; readonly types: readonly PrimitiveType[] } {
    const known = this.#specs.get(file.specId)
    if (known !== undefined) return known
    const spec = this.#metadata.partitionSpecs.find((candidate) => candidate.specId === file.specId)
    if (spec === undefined) {
      throw new IcebergError('INVALID_METADATA', `${file.filePath} has the unknown partition spec ${file.specId}`)
    }
    const entry = { spec, types: partitionType(spec, this.#metadata.schemas) }
    this.#specs.set(file.specId, entry)
    return entry
  }
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index])
}
