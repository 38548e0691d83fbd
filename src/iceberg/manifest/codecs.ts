import type { AvroSchema } from '../avro/avro-schema.ts'
import {
  arrayReader,
  bigIntReader,
  booleanReader,
  bytesReader,
  countReader,
  idMapReader,
  numberReader,
  stringReader,
} from '../avro/readers.ts'
import type { Reader } from '../avro/record-reader.ts'
import {
  arrayType,
  bigLongType,
  booleanType,
  bytesType,
  idMapType,
  intType,
  longType,
  stringType,
} from '../avro/record-writer.ts'
import { IcebergError } from '../errors.ts'
import type { Codec } from './field.ts'
import type { EntryStatus, FileContent } from './manifest.ts'

export const text: Codec<string> = { type: stringType, read: stringReader }
export const bytes: Codec<Uint8Array> = { type: bytesType, read: bytesReader }
export const flag: Codec<boolean> = { type: booleanType, read: booleanReader }
/** A 64-bit id. */
export const id: Codec<bigint> = { type: bigLongType, read: bigIntReader }
/** The id of a schema, spec, order or field. */
export const int: Codec<number> = { type: intType, read: numberReader }
/** A count, size, offset or sequence number, which is never negative. */
export const count: Codec<number> = { type: longType, read: countReader }

export const longs = (elementId: number): Codec<readonly number[]> => ({
  type: arrayType(elementId, longType),
  read: arrayReader(numberReader),
})
export const ints = (elementId: number): Codec<readonly number[]> => ({
  type: arrayType(elementId, intType),
  read: arrayReader(numberReader),
})
export const countsById = (keyId: number, valueId: number): Codec<ReadonlyMap<number, number>> => ({
  type: idMapType(keyId, valueId, longType),
  read: idMapReader(numberReader),
})
export const bytesById = (keyId: number, valueId: number): Codec<ReadonlyMap<number, Uint8Array>> => ({
  type: idMapType(keyId, valueId, bytesType),
  read: idMapReader(bytesReader),
})

const STATUSES: readonly EntryStatus[] = ['existing', 'added', 'deleted']
const CONTENTS: readonly FileContent[] = ['data', 'position-deletes', 'equality-deletes']

/** 0 existing, 1 added, 2 deleted. */
export const status: Codec<EntryStatus> = {
  type: { json: 'int', write: (sink, value) => sink.writeNumber(STATUSES.indexOf(value)) },
  read: readStatus,
}

/** 0 data, 1 position deletes, 2 equality deletes; `UNSUPPORTED` for later kinds. */
export const fileContent: Codec<FileContent> = {
  type: { json: 'int', write: (sink, value) => sink.writeNumber(CONTENTS.indexOf(value)) },
  read: readFileContent,
}

/** 0 data, 1 deletes; `UNSUPPORTED` for later kinds. */
export const manifestContent: Codec<'data' | 'deletes'> = {
  type: { json: 'int', write: (sink, value) => sink.writeNumber(value === 'data' ? 0 : 1) },
  read: readManifestContent,
}

/** Lower case here. Java and PyIceberg write upper case, and some readers accept nothing else. */
export const fileFormat: Codec<string> = {
  type: { json: 'string', write: (sink, value) => sink.writeString(value.toUpperCase()) },
  read: readFormat,
}

function readStatus(schema: AvroSchema): Reader<EntryStatus> {
  const read = numberReader(schema)
  return (cursor) => {
    const found = STATUSES[read(cursor)]
    if (found === undefined) throw cursor.corrupt('an entry has an unknown status')
    return found
  }
}

function readFileContent(schema: AvroSchema): Reader<FileContent> {
  const read = numberReader(schema)
  return (cursor) => {
    const number = read(cursor)
    const content = CONTENTS[number]
    if (content !== undefined) return content
    throw new IcebergError('UNSUPPORTED', `The ${cursor.label} has files of the unknown content type ${number}.`)
  }
}

function readManifestContent(schema: AvroSchema): Reader<'data' | 'deletes'> {
  const read = numberReader(schema)
  return (cursor) => {
    const number = read(cursor)
    if (number === 0) return 'data'
    if (number === 1) return 'deletes'
    throw new IcebergError('UNSUPPORTED', `The manifest list has manifests of the unknown content type ${number}.`)
  }
}

/** Consecutive entries with the same format share one string. */
function readFormat(schema: AvroSchema): Reader<string> {
  const read = stringReader(schema)
  let written = ''
  let lower = ''
  return (cursor) => {
    const format = read(cursor)
    if (format !== written) {
      written = format
      lower = format.toLowerCase()
    }
    return lower
  }
}
