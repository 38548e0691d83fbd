import { asObject, optionalArray, optionalString, requireCount, requireString } from '../../iceberg/json/json-fields.ts'
import { parseJson } from '../../iceberg/json/lossless-json.ts'
import type { JsonObject, JsonValue } from '../../iceberg/json/lossless-json.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'

/** Begins the property of a sink with the progress of a query, whose id follows (docs/adr/0020-diverted-rows.md). */
export const PROGRESS_PREFIX = 'lockhouse.pipeline.'
/** The same while the rows of the query are only in a branch: other pipelines must not count these as rows of the sink. */
export const BRANCH_PROGRESS_PREFIX = 'lockhouse.pipeline-branch.'
/** Ends the name of a manifest of diverted rows, which no snapshot has. */
export const STAGED_SUFFIX = '-diverted.avro'

/** Diverted rows whose files are written, but not committed. */
export interface StagedRows {
  readonly table: string
  readonly uuid: string
  /** The name of a manifest with the files, in the metadata folder of the table. */
  readonly manifest: string
  /** Where the manifest was written, for messages. */
  readonly location: string
  /** The partition spec of the files. */
  readonly specId: number
  readonly rows: number
}

/** Rows in the progress of a sink. */
export function stagedToJson({ specId, ...staged }: StagedRows): JsonObject {
  return { ...staged, spec_id: specId }
}

/** The reverse; throws `INVALID_METADATA`. */
export function stagedFromJson(value: JsonValue): StagedRows {
  const where = 'progress'
  const json = asObject(value, where)
  const manifest = requireString(json, 'manifest', where)
  return {
    table: requireString(json, 'table', where),
    uuid: requireString(json, 'uuid', where),
    manifest,
    location: optionalString(json, 'location', where) ?? manifest,
    specId: requireCount(json, 'spec_id', where),
    rows: requireCount(json, 'rows', where),
  }
}

/** Files of a batch in a sink that belong to another table, where their commit may still be due. */
export interface StagedFiles {
  /** The property of the sink, and of the other table once the rows are committed. */
  readonly property: string
  readonly batchId: number
  /** Begins the names of the files, and of no others. */
  readonly namePrefix: string
}

/** The staged files that a sink names; `unknown` when a progress in its properties cannot be read. */
export function stagedFilesIn({ properties }: Pick<TableMetadata, 'properties'>): readonly StagedFiles[] | 'unknown' {
  const found: StagedFiles[] = []
  for (const [property, text] of Object.entries(properties)) {
    const prefix = [PROGRESS_PREFIX, BRANCH_PROGRESS_PREFIX].find((each) => property.startsWith(each))
    if (prefix === undefined) continue
    try {
      const json = asObject(parseJson(text), property)
      const batchId = requireCount(json, 'batch_id', property)
      for (const staged of optionalArray(json, 'diverting', property) ?? []) {
        const namePrefix = stagedPrefix(stagedFromJson(staged).manifest)
        const own = `${PROGRESS_PREFIX}${property.slice(prefix.length)}`
        if (namePrefix !== undefined) found.push({ property: own, batchId, namePrefix })
      }
    } catch {
      return 'unknown'
    }
  }
  return found
}

/** Whether the table has the rows of these files. */
export function areCommitted({ properties }: Pick<TableMetadata, 'properties'>, staged: StagedFiles): boolean {
  try {
    const json = asObject(parseJson(properties[staged.property] ?? '{}'), staged.property)
    return requireCount(json, 'batch_id', staged.property) >= staged.batchId
  } catch {
    return false
  }
}

const STAGED_NAME = /^(.+-\d+-[0-9a-f]{8}-)(?:\d+-diverted\.avro|d\d+-\d+\.parquet)$/

/**
 * The part of the name that all files with diverted rows of a batch begin with: pipeline, batch and attempt. Undefined for a
 * file that has no such rows.
 */
export function stagedPrefix(fileName: string): string | undefined {
  return STAGED_NAME.exec(fileName)?.[1]
}
