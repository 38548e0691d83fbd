import { IcebergError } from '../errors.ts'
import { isJsonObject } from '../json/json-fields.ts'
import { parseJson } from '../json/lossless-json.ts'
import type { JsonObject, JsonValue } from '../json/lossless-json.ts'

/** Description of one blob in a Puffin footer (Puffin spec, "BlobMetadata"). */
export interface BlobMetadata {
  readonly type: string
  /** Field ids of the columns that the blob is about. */
  readonly fields: readonly number[]
  /** -1 when unknown at write time, as for deletion vectors. */
  readonly snapshotId: bigint
  /** -1 when unknown at write time. */
  readonly sequenceNumber: bigint
  /** Where the blob starts in the file, in bytes. */
  readonly offset: number
  /** Length in the file (compressed, when a codec is given), in bytes. */
  readonly length: number
  readonly compressionCodec?: string
  readonly properties: Readonly<Record<string, string>>
}

/** A Puffin footer (Puffin spec, "FileMetadata"). */
export interface PuffinFooter {
  readonly blobs: readonly BlobMetadata[]
  readonly properties: Readonly<Record<string, string>>
}

/** Parses the JSON payload of a footer; `CORRUPT_FILE` names the file and what is wrong. */
export function parseFooterPayload(payload: Uint8Array, location: string): PuffinFooter {
  const fail = (what: string): IcebergError =>
    new IcebergError('CORRUPT_FILE', `The Puffin footer of ${location} is damaged: ${what}`)
  const json = parseJson(payload)
  if (!isJsonObject(json)) throw fail('it is not a JSON object')
  const blobs = json['blobs']
  if (!Array.isArray(blobs)) throw fail('`blobs` is not a list')
  return {
    blobs: blobs.map((blob, index) => parseBlob(blob, (what) => fail(`blob ${index}: ${what}`))),
    properties: parseProperties(json['properties'], fail),
  }
}

/** A footer as the JSON object that the file holds. */
export function footerToJson(footer: PuffinFooter): JsonObject {
  const blobs = footer.blobs.map((blob): JsonObject => ({
    type: blob.type,
    fields: [...blob.fields],
    'snapshot-id': blob.snapshotId,
    'sequence-number': blob.sequenceNumber,
    offset: blob.offset,
    length: blob.length,
    ...(blob.compressionCodec === undefined ? {} : { 'compression-codec': blob.compressionCodec }),
    ...(Object.keys(blob.properties).length === 0 ? {} : { properties: { ...blob.properties } }),
  }))
  const json: JsonObject = { blobs }
  if (Object.keys(footer.properties).length > 0) json['properties'] = { ...footer.properties }
  return json
}

type Fail = (what: string) => IcebergError

function parseBlob(json: JsonValue, fail: Fail): BlobMetadata {
  if (!isJsonObject(json)) throw fail('not a JSON object')
  const type = json['type']
  if (typeof type !== 'string') throw fail('`type` is not text')
  const fields = json['fields']
  if (!Array.isArray(fields)) throw fail('`fields` is not a list')
  const codec = json['compression-codec'] ?? undefined
  if (codec !== undefined && typeof codec !== 'string') throw fail('`compression-codec` is not text')
  return {
    type,
    fields: fields.map((field) => size(field, 'fields', fail)),
    snapshotId: long(json['snapshot-id'], 'snapshot-id', fail),
    sequenceNumber: long(json['sequence-number'], 'sequence-number', fail),
    offset: size(json['offset'], 'offset', fail),
    length: size(json['length'], 'length', fail),
    ...(codec === undefined ? {} : { compressionCodec: codec }),
    properties: parseProperties(json['properties'], fail),
  }
}

function parseProperties(json: JsonValue | undefined, fail: Fail): Readonly<Record<string, string>> {
  if (json === undefined || json === null) return {}
  if (!isJsonObject(json)) throw fail('`properties` is not an object')
  const properties: [string, string][] = []
  for (const [key, value] of Object.entries(json)) {
    if (typeof value !== 'string') throw fail(`property \`${key}\` is not text`)
    properties.push([key, value])
  }
  return Object.fromEntries(properties)
}

function size(json: JsonValue | undefined, key: string, fail: Fail): number {
  if (typeof json === 'number' && Number.isSafeInteger(json) && json >= 0) return json
  throw fail(`\`${key}\` is not a size`)
}

function long(json: JsonValue | undefined, key: string, fail: Fail): bigint {
  if (typeof json === 'bigint') return json
  if (typeof json === 'number' && Number.isSafeInteger(json)) return BigInt(json)
  throw fail(`\`${key}\` is not a 64-bit integer`)
}
