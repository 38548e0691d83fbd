import { minimumSize } from './avro-schema.ts'
import type { AvroArray, AvroMap, AvroSchema, AvroUnion } from './avro-schema.ts'
import type { ByteCursor } from './byte-cursor.ts'

/** Moves a cursor over one value without reading it. */
export type Skipper = (cursor: ByteCursor) => void

/**
 * Compiles a schema into a function that skips its values without allocating: most of a manifest is columns that
 * are not needed, such as metrics.
 */
export function compileSkipper(schema: AvroSchema): Skipper {
  switch (schema.kind) {
    case 'null':
      return () => {}
    case 'boolean':
      return (cursor) => cursor.skip(1)
    case 'int':
    case 'long':
    case 'enum':
      return (cursor) => cursor.skipVarint()
    case 'float':
      return (cursor) => cursor.skip(4)
    case 'double':
      return (cursor) => cursor.skip(8)
    case 'bytes':
    case 'string':
      return (cursor) => cursor.skip(cursor.readNumber())
    case 'fixed':
      return (cursor) => cursor.skip(schema.size)
    case 'record':
      return skipAll(schema.fields.map((field) => field.schema))
    case 'union':
      return compileUnion(schema)
    case 'array':
    case 'map':
      return compileBlocks(schema)
  }
}

/** Compiles a sequence of values; consecutive varints become one step. */
export function skipAll(schemas: readonly AvroSchema[]): Skipper {
  const steps: Skipper[] = []
  for (let at = 0; at < schemas.length;) {
    const varints = countVarints(schemas, at)
    const schema = schemas[at]
    if (varints > 1) steps.push((cursor) => cursor.skipVarints(varints))
    else if (schema !== undefined && schema.kind !== 'null') steps.push(compileSkipper(schema))
    at += Math.max(varints, 1)
  }
  return inSequence(steps)
}

function inSequence(steps: readonly Skipper[]): Skipper {
  const [first, second] = steps
  if (first === undefined) return () => {}
  if (second === undefined) return first
  return (cursor) => {
    for (const step of steps) step(cursor)
  }
}

function compileUnion(schema: AvroUnion): Skipper {
  const branches = schema.branches.map(compileSkipper)
  return (cursor) => {
    const branch = branches[cursor.readNumber()]
    if (branch === undefined) throw cursor.corrupt('a union has an unknown branch')
    branch(cursor)
  }
}

function compileBlocks(schema: AvroArray | AvroMap): Skipper {
  const item: readonly AvroSchema[] =
    schema.kind === 'map' ? [{ kind: 'string' }, schema.values] : flatten(schema.items)
  const minimum = item.reduce((sum, part) => sum + minimumSize(part), 0)
  const skipItems = compileItems(item)
  return (cursor) => {
    for (;;) {
      const count = cursor.readBlockCount(minimum)
      if (count === 0) return
      skipItems(cursor, count)
    }
  }
}

type ItemsSkipper = (cursor: ByteCursor, count: number) => void

function compileItems(item: readonly AvroSchema[]): ItemsSkipper {
  if (item.length > 0 && countVarints(item, 0) === item.length) {
    return (cursor, count) => cursor.skipVarints(count * item.length)
  }
  if (item.length === 2 && isVarint(item[0]) && (item[1]?.kind === 'bytes' || item[1]?.kind === 'string')) {
    return (cursor, count) => cursor.skipVarintsWithBytes(count)
  }
  const skipItem = skipAll(item)
  return (cursor, count) => {
    for (let left = count; left > 0; left--) skipItem(cursor)
  }
}

function flatten(schema: AvroSchema): readonly AvroSchema[] {
  return schema.kind === 'record' ? schema.fields.flatMap((field) => flatten(field.schema)) : [schema]
}

function countVarints(schemas: readonly AvroSchema[], from: number): number {
  let count = 0
  while (isVarint(schemas[from + count])) count++
  return count
}

function isVarint(schema: AvroSchema | undefined): boolean {
  return schema?.kind === 'int' || schema?.kind === 'long' || schema?.kind === 'enum'
}
