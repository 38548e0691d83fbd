import type { AvroRecord, AvroSchema } from '../avro/avro-schema.ts'
import type { ByteCursor } from '../avro/byte-cursor.ts'
import { headerText, openAvroContainer } from '../avro/container-reader.ts'
import type { AvroContainer } from '../avro/container-reader.ts'
import { compileRecord, nestedFields, requiredField, wrongType } from '../avro/record-reader.ts'
import type { FieldBinding, Reader, Step } from '../avro/record-reader.ts'
import { compileSkipper } from '../avro/skipper.ts'
import { parseJson } from '../json/lossless-json.ts'
import { count, fileContent, status } from './codecs.ts'
import { DATA_FILE, ENTRY_FIELDS, FILE_FIELDS, PARTITION } from './entry-fields.ts'
import { bindInstead } from './field.ts'
import { decodeManifest, findSpec, openManifest } from './open.ts'
import { partitionReader } from './partition.ts'
import type { EntryStatus, FileContent, ManifestFile } from './manifest.ts'
import type { TableMetadata } from '../metadata/metadata.ts'
import { partitionKey, partitionType } from '../partitioning/partitioning.ts'
import type { PartitionSpec, PartitionTuple } from '../partitioning/partitioning.ts'
import { parseSchema } from '../schema/schema.ts'
import type { Schema } from '../schema/schema.ts'

/** Live files of one kind: their number, their bytes (of a deletion vector: its own, not the Puffin file's), their rows. */
export interface ContentTotals {
  count: number
  bytes: number
  records: number
}

/** Live files of one partition; `files`, `bytes` and `records` are about data files. */
export interface PartitionTotals {
  readonly tuple: PartitionTuple
  files: number
  bytes: number
  records: number
  deleteFiles: number
}

/** Totals of the live (existing and added) files of a manifest, without the files themselves. */
export interface ManifestTotals {
  readonly dataFiles: Readonly<ContentTotals>
  readonly positionDeletes: Readonly<ContentTotals>
  readonly equalityDeletes: Readonly<ContentTotals>
  readonly deletionVectors: Readonly<ContentTotals>
  /** Sizes in bytes of the live data files, in file order. */
  readonly sizes: Float64Array
  /** For each entry of `sizes`, the position of its partition in `partitionKeys`. */
  readonly partitionIndexes: Int32Array
  /** Live files of any kind that are neither Parquet nor Puffin. */
  readonly otherFormats: number
  /** By the key of `partitionKey`. */
  readonly partitionKeys: ReadonlyMap<string, Readonly<PartitionTotals>>
}

/**
 * Adds up the live files of a manifest, reading nothing but statuses, sizes and partitions: for table health.
 *
 * With a context, the manifest is checked against its entry in the manifest list, and partition keys use the table's
 * schemas; without it, the manifest's own header. Errors are those of `readManifest`.
 */
export function readManifestTotals(
  bytes: Uint8Array,
  context: { readonly manifest?: ManifestFile; readonly metadata?: TableMetadata } = {},
): ManifestTotals {
  const { manifest } = context
  const container = manifest === undefined ? openAvroContainer(bytes, 'manifest') : openManifest(bytes, manifest)
  const keys = partitionKeyReader(container, context)
  return decodeManifest(container, (schema) => addUp(container, compileRecord(schema, totalsBindings(keys))))
}

function addUp(container: AvroContainer, readEntry: Step<TotalsDraft>): ManifestTotals {
  const collector = new TotalsCollector()
  const draft: TotalsDraft = {
    status: 'existing',
    content: 'data',
    format: 'other',
    size: 0,
    records: 0,
    blob: -1,
    partition: NO_PARTITION,
  }
  container.forEachRecord((cursor) => {
    draft.content = 'data'
    draft.blob = -1
    readEntry(cursor, draft)
    if (draft.status !== 'deleted') collector.add(draft)
  })
  return collector.totals()
}

/** A partition as it appears in the entries. */
interface PartitionName {
  readonly key: string
  readonly tuple: PartitionTuple
}

const NO_PARTITION: PartitionName = { key: '', tuple: [] }

interface TotalsDraft {
  status: EntryStatus
  content: FileContent
  format: FormatKind
  size: number
  records: number
  /** Length of a deletion vector's blob; -1 when there is none. */
  blob: number
  partition: PartitionName
}

function totalsBindings(keys: (schema: AvroSchema) => Reader<PartitionName>): FieldBinding<TotalsDraft>[] {
  const { content, fileFormat, recordCount, fileSizeInBytes, contentSizeInBytes } = FILE_FIELDS
  return [
    bindInstead(ENTRY_FIELDS.status.bind, { read: status.read, set: (draft, value) => (draft.status = value) }),
    nestedFields(
      DATA_FILE.id,
      [DATA_FILE.name],
      [
        bindInstead<TotalsDraft, FileContent>(content.bind, {
          read: fileContent.read,
          set: (draft, value) => (draft.content = value),
        }),
        bindInstead(fileFormat.bind, { read: formatReader, set: (draft, value) => (draft.format = value) }),
        requiredField(PARTITION.id, [PARTITION.name], {
          read: keys,
          set: (draft, value) => (draft.partition = value),
        }),
        bindInstead(recordCount.bind, { read: count.read, set: (draft, value) => (draft.records = value) }),
        bindInstead(fileSizeInBytes.bind, { read: count.read, set: (draft, value) => (draft.size = value) }),
        bindInstead(contentSizeInBytes.bind, { read: count.read, set: (draft, value) => (draft.blob = value) }),
      ],
    ),
  ]
}

class TotalsCollector {
  readonly #data: ContentTotals = { count: 0, bytes: 0, records: 0 }
  readonly #positions: ContentTotals = { count: 0, bytes: 0, records: 0 }
  readonly #equality: ContentTotals = { count: 0, bytes: 0, records: 0 }
  readonly #vectors: ContentTotals = { count: 0, bytes: 0, records: 0 }
  readonly #partitions = new Map<string, { readonly index: number; readonly totals: PartitionTotals }>()
  #otherFormats = 0
  #sizes = new Float64Array(256)
  #indexes = new Int32Array(256)

  add(draft: TotalsDraft): void {
    const { index, totals: partition } = this.#partition(draft.partition)
    if (draft.format === 'other') this.#otherFormats++
    if (draft.content === 'data') {
      this.#addSize(draft.size, index)
      addTo(this.#data, draft.size, draft.records)
      partition.files++
      partition.bytes += draft.size
      partition.records += draft.records
      return
    }
    partition.deleteFiles++
    if (draft.content === 'equality-deletes') addTo(this.#equality, draft.size, draft.records)
    else if (draft.format === 'puffin') addTo(this.#vectors, draft.blob < 0 ? draft.size : draft.blob, draft.records)
    else addTo(this.#positions, draft.size, draft.records)
  }

  totals(): ManifestTotals {
    return {
      dataFiles: this.#data,
      positionDeletes: this.#positions,
      equalityDeletes: this.#equality,
      deletionVectors: this.#vectors,
      otherFormats: this.#otherFormats,
      sizes: this.#sizes.slice(0, this.#data.count),
      partitionIndexes: this.#indexes.slice(0, this.#data.count),
      partitionKeys: new Map(Array.from(this.#partitions, ([key, { totals }]) => [key, totals])),
    }
  }

  #partition({ key, tuple }: PartitionName): { readonly index: number; readonly totals: PartitionTotals } {
    const known = this.#partitions.get(key)
    if (known !== undefined) return known
    const totals = { tuple, files: 0, bytes: 0, records: 0, deleteFiles: 0 }
    const made = { index: this.#partitions.size, totals }
    this.#partitions.set(key, made)
    return made
  }

  #addSize(size: number, partitionIndex: number): void {
    const { count } = this.#data
    if (count === this.#sizes.length) {
      const grown = new Float64Array(count * 2)
      grown.set(this.#sizes)
      this.#sizes = grown
      const grownIndexes = new Int32Array(count * 2)
      grownIndexes.set(this.#indexes)
      this.#indexes = grownIndexes
    }
    this.#sizes[count] = size
    this.#indexes[count] = partitionIndex
  }
}

function addTo(totals: ContentTotals, bytes: number, records: number): void {
  totals.count++
  totals.bytes += bytes
  totals.records += records
}

type FormatKind = 'parquet' | 'puffin' | 'other'

/** Distinguishes file formats by length and second letter, without creating a string. */
function formatReader(schema: AvroSchema): Reader<FormatKind> {
  if (schema.kind !== 'string') throw wrongType(schema, 'string')
  return (cursor) => {
    const length = cursor.readNumber()
    const second = (cursor.bytes[cursor.pos + 1] ?? 0) | 0x20 // lower case
    cursor.skip(length)
    if (length === 7 && second === 0x61) return 'parquet'
    return length === 6 && second === 0x75 ? 'puffin' : 'other'
  }
}

/** Reads partition records as keys; equal bytes in consecutive entries are decoded only once. */
function partitionKeyReader(
  container: AvroContainer,
  context: { readonly manifest?: ManifestFile; readonly metadata?: TableMetadata },
): (schema: AvroSchema) => Reader<PartitionName> {
  return (schema) => {
    const spec = specFor(container, schema, context)
    const types = partitionType(spec, context.metadata?.schemas ?? headerSchemas(container))
    const readTuple = partitionReader(spec, types)(schema)
    const skip = compileSkipper(schema)
    const known = new Map<string, PartitionName>()
    return (cursor) => {
      const start = cursor.pos
      skip(cursor)
      const raw = rawText(cursor, start)
      const cached = known.get(raw)
      if (cached !== undefined) return cached
      cursor.pos = start
      const tuple = readTuple(cursor)
      const name = { key: partitionKey(spec, types, tuple), tuple }
      known.set(raw, name)
      return name
    }
  }
}

function rawText(cursor: ByteCursor, start: number): string {
  return start === cursor.pos ? '' : cursor.bytes.toString('latin1', start, cursor.pos)
}

function specFor(
  container: AvroContainer,
  schema: AvroSchema,
  { manifest, metadata }: { readonly manifest?: ManifestFile; readonly metadata?: TableMetadata },
): PartitionSpec {
  const specId = manifest?.partitionSpecId ?? Number(headerText(container.header, 'partition-spec-id') ?? 0)
  if (metadata !== undefined || container.header.has('partition-spec')) return findSpec(container, specId, metadata)
  if (schema.kind !== 'record') throw wrongType(schema, 'record')
  return specOfRecord(schema, specId)
}

/** A spec with the fields of a partition record, for manifests that do not state their spec. */
function specOfRecord(schema: AvroRecord, specId: number): PartitionSpec {
  const fields = schema.fields.map(({ name, fieldId }, index) => {
    return {
      name,
      fieldId: fieldId ?? 1000 + index,
      sourceId: 0,
      transform: { kind: 'unknown' as const, text: 'unknown' },
    }
  })
  return { specId, fields }
}

function headerSchemas(container: AvroContainer): readonly Schema[] {
  const text = headerText(container.header, 'schema')
  return text === undefined ? [] : [parseSchema(parseJson(text), `schema of the ${container.label}`)]
}
