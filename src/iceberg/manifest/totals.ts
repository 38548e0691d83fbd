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
import type { PrimitiveType } from '../schema/types.ts'
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
  /** For each entry of `sizes`, the rows of the file. */
  readonly records: Float64Array
  /** For each entry of `sizes`, the bytes of the file's smallest row group, see {@link smallestRowGroup}. */
  readonly smallestRowGroups: Float64Array
  /** Live files of any kind that are neither Parquet nor Puffin. */
  readonly otherFormats: number
  /**
   * Live files that a plan must read in full: neither Parquet nor Puffin, encrypted, of another kind than the manifest, or without the
   * sequence number that they may not inherit.
   */
  readonly unusualFiles: number
  /** By the key of `partitionKey`. */
  readonly partitionKeys: ReadonlyMap<string, Readonly<PartitionTotals>>
}

/** How a manifest is read for its totals. */
export interface TotalsContext {
  readonly manifest?: ManifestFile
  readonly metadata?: TableMetadata
  /** Instead of the metadata, where the table still has the spec of the manifest. */
  readonly partitioning?: TotalsPartitioning
}

/** The spec of a manifest and the types of its partition values. */
export interface TotalsPartitioning {
  readonly spec: PartitionSpec
  readonly types: readonly PrimitiveType[]
}

/**
 * Adds up the live files of a manifest, reading nothing but statuses, sizes and partitions: for table health and plans.
 *
 * With a context, the manifest is checked against its entry in the manifest list, and partition keys use the table's
 * schemas; without it, the manifest's own header. Errors are those of `readManifest`.
 */
export function readManifestTotals(bytes: Uint8Array, context: TotalsContext = {}): ManifestTotals {
  const { manifest } = context
  const container = manifest === undefined ? openAvroContainer(bytes, 'manifest') : openManifest(bytes, manifest)
  const keys = partitionKeyReader(container, context)
  const decode = (schema: AvroSchema) => compileRecord(schema, totalsBindings(keys))
  return decodeManifest(container, (schema) => addUp(container, decode(schema), manifest))
}

function addUp(container: AvroContainer, readEntry: Step<TotalsDraft>, manifest?: ManifestFile): ManifestTotals {
  const collector = new TotalsCollector(manifest)
  const draft: TotalsDraft = {
    status: 'existing',
    content: 'data',
    format: 'other',
    size: 0,
    records: 0,
    blob: -1,
    partition: NO_PARTITION,
    gap: Number.POSITIVE_INFINITY,
    lastOffset: 0,
    isEncrypted: false,
    hasSequenceNumber: false,
  }
  container.forEachRecord((cursor) => {
    draft.content = 'data'
    draft.blob = -1
    draft.gap = Number.POSITIVE_INFINITY
    draft.lastOffset = 0
    draft.isEncrypted = false
    draft.hasSequenceNumber = false
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
  /** The smallest distance between two starts of row groups; infinite with fewer than two. */
  gap: number
  /** Start of the last row group; 0 when the starts are not known. */
  lastOffset: number
  isEncrypted: boolean
  hasSequenceNumber: boolean
}

function totalsBindings(keys: (schema: AvroSchema) => Reader<PartitionName>): FieldBinding<TotalsDraft>[] {
  const { content, fileFormat, recordCount, fileSizeInBytes, contentSizeInBytes, keyMetadata, splitOffsets } =
    FILE_FIELDS
  return [
    bindInstead(ENTRY_FIELDS.status.bind, { read: status.read, set: (draft, value) => (draft.status = value) }),
    bindInstead(ENTRY_FIELDS.sequenceNumber.bind, {
      read: count.read,
      set: (draft) => (draft.hasSequenceNumber = true),
    }),
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
        bindInstead(keyMetadata.bind, { read: presenceReader, set: (draft) => (draft.isEncrypted = true) }),
        bindInstead<TotalsDraft, Offsets>(splitOffsets.bind, {
          read: offsetsReader,
          set: (draft, { gap, last }) => {
            draft.gap = gap
            draft.lastOffset = last
          },
        }),
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
  readonly #manifest: ManifestFile | undefined
  #otherFormats = 0
  #unusualFiles = 0
  #sizes = new Float64Array(256)
  #records = new Float64Array(256)
  #rowGroups = new Float64Array(256)
  #indexes = new Int32Array(256)

  constructor(manifest: ManifestFile | undefined) {
    this.#manifest = manifest
  }

  add(draft: TotalsDraft): void {
    const { index, totals: partition } = this.#partition(draft.partition)
    if (draft.format === 'other') this.#otherFormats++
    if (this.#isUnusual(draft)) this.#unusualFiles++
    if (draft.content === 'data') {
      this.#addFile(draft, index)
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
      unusualFiles: this.#unusualFiles,
      sizes: this.#sizes.slice(0, this.#data.count),
      partitionIndexes: this.#indexes.slice(0, this.#data.count),
      records: this.#records.slice(0, this.#data.count),
      smallestRowGroups: this.#rowGroups.slice(0, this.#data.count),
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

  #isUnusual({ content, format, isEncrypted, hasSequenceNumber, status: is }: TotalsDraft): boolean {
    if (isEncrypted || format === 'other' || (content === 'data' && format !== 'parquet')) return true
    if (this.#manifest === undefined) return false
    if ((content === 'data') !== (this.#manifest.content === 'data')) return true
    return !hasSequenceNumber && is !== 'added' && this.#manifest.sequenceNumber !== 0
  }

  #addFile({ size, records, gap, lastOffset }: TotalsDraft, partitionIndex: number): void {
    const { count: at } = this.#data
    if (at === this.#sizes.length) this.#grow()
    this.#sizes[at] = size
    this.#records[at] = records
    this.#rowGroups[at] = Math.min(size, gap, size - lastOffset)
    this.#indexes[at] = partitionIndex
  }

  #grow(): void {
    const doubled = (values: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> => {
      const grown = new Float64Array(values.length * 2)
      grown.set(values)
      return grown
    }
    this.#sizes = doubled(this.#sizes)
    this.#records = doubled(this.#records)
    this.#rowGroups = doubled(this.#rowGroups)
    const grownIndexes = new Int32Array(this.#indexes.length * 2)
    grownIndexes.set(this.#indexes)
    this.#indexes = grownIndexes
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

/** Skips bytes: only their presence counts. */
function presenceReader(schema: AvroSchema): Reader<true> {
  const skip = compileSkipper(schema)
  return (cursor) => {
    skip(cursor)
    return true
  }
}

interface Offsets {
  gap: number
  last: number
}

/** What matters of the starts of row groups. */
function offsetsReader(schema: AvroSchema): Reader<Offsets> {
  if (schema.kind !== 'array') throw wrongType(schema, 'array')
  const { items } = schema
  if (items.kind !== 'int' && items.kind !== 'long') throw wrongType(items, 'int or long')
  const offsets: Offsets = { gap: 0, last: 0 }
  return (cursor) => {
    let gap = Number.POSITIVE_INFINITY
    let last: number | undefined
    for (let count = cursor.readBlockCount(1); count > 0; count = cursor.readBlockCount(1)) {
      for (let left = count; left > 0; left--) {
        const start = cursor.readNumber()
        if (last !== undefined) gap = Math.min(gap, start - last)
        last = start
      }
      cursor.assertWithin()
    }
    offsets.gap = gap
    offsets.last = last ?? 0
    return offsets
  }
}

/** Reads partition records as keys; equal bytes in consecutive entries are decoded only once. */
function partitionKeyReader(
  container: AvroContainer,
  context: TotalsContext,
): (schema: AvroSchema) => Reader<PartitionName> {
  return (schema) => {
    const { spec, types } = context.partitioning ?? partitioningFor(container, schema, context)
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

function partitioningFor(container: AvroContainer, schema: AvroSchema, context: TotalsContext): TotalsPartitioning {
  const spec = specFor(container, schema, context)
  return { spec, types: partitionType(spec, context.metadata?.schemas ?? headerSchemas(container)) }
}

function specFor(container: AvroContainer, schema: AvroSchema, { manifest, metadata }: TotalsContext): PartitionSpec {
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
