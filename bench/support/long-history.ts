import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { LocalFileIO } from '../../src/iceberg/io/local.ts'
import type { JsonObject } from '../../src/iceberg/json/lossless-json.ts'
import type { DataFile } from '../../src/iceberg/manifest/manifest.ts'
import { createTableMetadata } from '../../src/iceberg/metadata/builder.ts'
import {
  serializeTableMetadata,
  tableMetadataFromJson,
  type TableMetadata,
} from '../../src/iceberg/metadata/metadata.ts'
import type { Table } from '../../src/iceberg/metadata/table.ts'
import { applyUpdates } from '../../src/iceberg/update/apply/apply-updates.ts'
import { stageAppend } from '../../src/iceberg/update/stage/stage-append.ts'
import { stageRewrite } from '../../src/iceberg/update/stage/stage-rewrite.ts'
import { WIDE_SCHEMA } from './metadata-only-files.ts'

/** Appends between two rewrites of all live files into one. */
const APPENDS = 9

/** Writes without waiting for the disk: it makes the input of a measurement, it is none. */
class QuickFileIO extends LocalFileIO {
  override async create(location: string, bytes: Uint8Array): Promise<void> {
    const path = location.replace('file://', '')
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, bytes)
  }
}

/**
 * Writes a table with so many snapshots, as a stream that is compacted now and then leaves it: nine appends of one file,
 * then one rewrite of all live files, and so on. All files exist. Answers the location of its metadata.
 */
export async function makeHistory(location: string, snapshots: number): Promise<string> {
  const io = new QuickFileIO()
  const startMs = Date.now() - snapshots * 60_000 - 3_600_000
  const kept: JsonObject[] = []
  let metadata = createTableMetadata({
    schema: WIDE_SCHEMA,
    location,
    formatVersion: 2,
    uuid: crypto.randomUUID(),
    nowMs: startMs,
  })
  let live: DataFile[] = []
  for (let i = 0; i < snapshots; i++) {
    const table: Table = {
      identifier: { namespace: ['bench'], name: 'history' },
      metadataLocation: `${location}/metadata/none`,
      metadata,
      io,
    }
    const file = await newFile(io, location, i)
    const rewrite = i % (APPENDS + 1) === APPENDS
    const staged = rewrite
      ? await stageRewrite(table, {
          ...currentPoint(metadata),
          replaced: live,
          added: [{ ...file, recordCount: sumRows(live) }],
          operationId: `h${i}`,
        })
      : await stageAppend(table, { files: [file], operationId: `h${i}` })
    live = rewrite ? [{ ...file, recordCount: sumRows(live) }] : [...live, file]
    metadata = applyUpdates(metadata, staged.updates, { nowMs: startMs + i * 60_000 })
    kept.push(backdated(metadata, startMs + i * 60_000))
    metadata = forgetPast(metadata)
  }
  const whole = tableMetadataFromJson({ ...metadata.json, snapshots: kept, 'snapshot-log': kept.map(logEntry) })
  const target = `${location}/metadata/00000-${crypto.randomUUID()}.metadata.json`
  await io.create(target, serializeTableMetadata(whole))
  return target
}

async function newFile(io: QuickFileIO, location: string, index: number): Promise<DataFile> {
  const filePath = `${location}/data/${index}.parquet`
  await io.create(filePath, new Uint8Array(1000))
  return {
    content: 'data',
    filePath,
    fileFormat: 'parquet',
    specId: 0,
    partition: [],
    recordCount: 100,
    fileSizeInBytes: 1000,
    valueCounts: new Map(WIDE_SCHEMA.fields.map((field) => [field.id, 100])),
  }
}

function sumRows(files: readonly DataFile[]): number {
  return files.reduce((sum, file) => sum + file.recordCount, 0)
}

function currentPoint(metadata: TableMetadata) {
  return { startingSnapshotId: metadata.currentSnapshotId ?? 0n, startingSequenceNumber: metadata.lastSequenceNumber }
}

/** The newest snapshot of the document, a minute after the one before. */
function backdated(metadata: TableMetadata, timestampMs: number): JsonObject {
  const list = metadata.json['snapshots'] as JsonObject[]
  return { ...list.at(-1), 'timestamp-ms': timestampMs }
}

/** Only the current snapshot stays, so that a step costs the same whatever went before. */
function forgetPast(metadata: TableMetadata): TableMetadata {
  const list = metadata.json['snapshots'] as JsonObject[]
  return tableMetadataFromJson({ ...metadata.json, snapshots: list.slice(-1), 'snapshot-log': [], 'metadata-log': [] })
}

function logEntry(snapshot: JsonObject): JsonObject {
  return { 'snapshot-id': snapshot['snapshot-id'] ?? null, 'timestamp-ms': snapshot['timestamp-ms'] ?? null }
}
