import type { DuckDBValue } from '@duckdb/node-api'

import type { Type } from '../../../iceberg/schema/types.ts'
import { valueToText } from '../../../iceberg/values/json.ts'
import type { ReadTask } from '../../engine.ts'
import type { EngineRunOptions } from '../../run-options.ts'

import type { DuckDbSession } from '../session/session.ts'
import { requireReadable } from './read-checks.ts'
import { toValue } from '../session/result-values.ts'
import { RowSource } from './row-source.ts'
import { openInputs } from './inputs.ts'
import { duckType, structMembers } from '../session/type-mapping.ts'

/** A row as JSON, by column name. */
export type RowObject = Readonly<Record<string, unknown>>

/** What reading needs: a database, and a slot for each piece of work. */
interface RowReading {
  readonly session: DuckDbSession
  readonly inSlot: <T>(work: () => Promise<T>) => Promise<T>
}

/**
 * Reads rows one batch at a time, as fast as they are consumed. Numbers up to 32 bits and finite floats are numbers; longs,
 * decimals, dates and times text as the table format writes them; bytes hexadecimal; maps lists of `{key, value}`.
 */
export async function* readRowObjects(
  { session, inSlot }: RowReading,
  task: ReadTask,
  { signal }: EngineRunOptions,
): AsyncGenerator<RowObject> {
  const { io, metadata, schema, inputs, limit } = task
  requireReadable(metadata, inputs)
  for (const field of schema.fields) if (field.type.kind !== 'unknown') duckType(field.type)
  if (inputs.length === 0) return
  const run = await session.open('reading rows', signal)
  try {
    const result = await inSlot(async () => {
      const context = { run, io, metadata }
      const source = await RowSource.create(context, await openInputs(context, inputs))
      const rows = source.liveRows({ fields: schema.fields })
      return run.stream(limit === undefined ? rows : `SELECT * FROM (${rows}) LIMIT ${Math.max(0, Math.floor(limit))}`)
    })
    const writers = schema.fields.map((field) => [field.name, jsonWriter(field.type)] as const)
    for (;;) {
      const chunk = await inSlot(() => run.guarded(() => result.fetchChunk()))
      if (!chunk || chunk.rowCount === 0) return
      const columns = writers.map(([name, write], at) => [name, chunk.getColumnValues(at).map(write)] as const)
      for (let row = 0; row < chunk.rowCount; row += 1) {
        yield Object.fromEntries(columns.map(([name, values]) => [name, values[row]]))
      }
    }
  } finally {
    await run.close()
  }
}

/** Converts a value of the engine to JSON. */
export type JsonWriter = (value: DuckDBValue) => unknown

/** The writer for values of a type; see {@link readRowObjects}. */
export function jsonWriter(type: Type): JsonWriter {
  switch (type.kind) {
    case 'struct':
      return structWriter(
        structMembers(type.fields).map(([member, field]) => [member, field.name, jsonWriter(field.type)]),
      )
    case 'list': {
      const write = jsonWriter(type.element)
      return (value) => (hasKey(value, 'items') ? (value.items as DuckDBValue[]).map(write) : null)
    }
    case 'map':
      return mapWriter(jsonWriter(type.key), jsonWriter(type.value))
    case 'unknown':
      return () => null
    default:
      return (value) => {
        const plain = toValue(type, value)
        if (plain === null || typeof plain === 'boolean') return plain
        if (typeof plain === 'number' && type.kind !== 'date') return Number.isFinite(plain) ? plain : String(plain)
        return type.kind === 'long' ? String(plain) : valueToText(type, plain)
      }
  }
}

function structWriter(members: readonly (readonly [member: string, name: string, write: JsonWriter])[]): JsonWriter {
  return (value) => {
    if (!hasKey(value, 'entries')) return null
    const entries = value.entries as Readonly<Record<string, DuckDBValue>>
    return Object.fromEntries(members.map(([member, name, write]) => [name, write(entries[member] ?? null)]))
  }
}

function mapWriter(writeKey: JsonWriter, writeValue: JsonWriter): JsonWriter {
  return (value) => {
    if (!hasKey(value, 'entries')) return null
    const entries = value.entries as readonly { readonly key: DuckDBValue; readonly value: DuckDBValue }[]
    return entries.map((entry) => ({ key: writeKey(entry.key), value: writeValue(entry.value) }))
  }
}

function hasKey<K extends string>(value: DuckDBValue, key: K): value is DuckDBValue & Record<K, unknown> {
  return typeof value === 'object' && value !== null && key in value
}
