import { childFields } from '../../../iceberg/schema/schema.ts'
import { isNested } from '../../../iceberg/schema/types.ts'
import type { NestedField } from '../../../iceberg/schema/types.ts'

import { readInteger, readStored, readText } from './compact-struct.ts'
import type { StoredStruct } from './compact-struct.ts'
import { NotCopyableError } from './not-copyable-error.ts'
import { formsOfType, storedForm } from './parquet-form.ts'

/** The schema of a file as it is stored. */
export interface StoredSchema {
  /** Names the file in errors. */
  readonly location: string
  /** Encoded elements, the root first. */
  readonly schema: readonly Uint8Array[]
}

/** An element of a stored schema with those below it. */
interface Node {
  readonly name: string
  readonly fieldId: number | undefined
  readonly isRepeated: boolean
  readonly isLeaf: boolean
  readonly form: string
  readonly children: readonly Node[]
}

const MAX_DEPTH = 100
const REPEATED = 2

/**
 * Field ids of the leaves of a file, in the order of its column chunks (negative for the values of a variant), if the file has exactly the columns of a table: each column in
 * its type, and nothing else. {@link NotCopyableError} says what differs. A column may be missing where readers see nulls anyway.
 */
export function leafIds(
  footer: StoredSchema,
  fields: readonly NestedField[],
  requiredIds: ReadonlySet<number>,
): readonly number[] {
  const root = buildTree(footer)
  const ids: number[] = []
  matchMembers(root, fields, ids)
  for (const field of fields) {
    const isMissing = root.children.every(({ fieldId }) => fieldId !== field.id)
    const isNull = !field.required && field.initialDefault === undefined && !requiredIds.has(field.id)
    if (isMissing && !isNull) throw new NotCopyableError(`column ${field.name} is missing in a file`)
  }
  return ids
}

/** Matches the members of a struct by their ids; order and names may differ, as readers go by ids. */
function matchMembers({ children }: Node, fields: readonly NestedField[], ids: number[]): void {
  const seen = new Set<number>()
  for (const child of children) {
    const field = fields.find(({ id }) => id === child.fieldId)
    if (field === undefined || seen.has(field.id)) {
      throw new NotCopyableError(`a file has the column ${child.name}, which is not a column of the table now`)
    }
    seen.add(field.id)
    match(child, field, ids)
  }
}

function match(node: Node, field: NestedField, ids: number[]): void {
  const { type } = field
  if (type.kind === 'variant') return matchVariant(node, field, ids)
  if (node.isRepeated || node.fieldId !== field.id || node.isLeaf === isNested(type)) throw wrongForm(node, field)
  if (!isNested(type)) {
    if (!formsOfType(type).includes(node.form)) throw wrongForm(node, field)
    ids.push(field.id)
  } else if (type.kind === 'struct') {
    if (node.form !== '' || node.children.length !== type.fields.length) throw wrongForm(node, field)
    matchMembers(node, type.fields, ids)
  } else matchEntries(node, field, ids)
}

/**
 * Matches a variant (Parquet, "Variant Binary Encoding" and "Variant Shredding"). Its shredded values may have any form, because their
 * bytes stay as they are; all files have the same one. The leaf of the metadata stands for the column, as it has one entry per value.
 */
function matchVariant(node: Node, field: NestedField, ids: number[]): void {
  const [metadata, ...values] = node.children
  const isGroup = !node.isLeaf && !node.isRepeated && node.fieldId === field.id && /^( VARIANT)?$/.test(node.form)
  const names = values.map(({ name }) => name).join()
  const isVariant =
    metadata?.name === 'metadata' &&
    ['value', 'value,typed_value', 'typed_value'].includes(names) &&
    node.children.every(({ name, form }) => name === 'typed_value' || form === 'BYTE_ARRAY')
  if (!isGroup || !isVariant) throw wrongForm(node, field)
  ids.push(field.id)
  for (let left = values.reduce((sum, value) => sum + countLeaves(value), 0); left > 0; left -= 1) ids.push(-field.id)
}

function countLeaves({ isLeaf, children }: Node): number {
  return isLeaf ? 1 : children.reduce((sum, child) => sum + countLeaves(child), 0)
}

/** Matches a list or a map: a group with one repeated group (LogicalTypes.md, "Nested Types"); older layouts are not copied. */
function matchEntries(node: Node, field: NestedField, ids: number[]): void {
  const parts = childFields(field.type)
  const [entry] = node.children
  const hasForm = node.form === ` ${field.type.kind.toUpperCase()}` && node.children.length === 1
  if (!hasForm || !entry?.isRepeated || entry.children.length !== parts.length) throw wrongForm(node, field)
  for (const [at, child] of entry.children.entries()) {
    const part = parts[at]
    if (part !== undefined) match(child, part, ids)
  }
}

function wrongForm({ form, name }: Node, field: NestedField): NotCopyableError {
  return new NotCopyableError(
    `a file has column ${field.name} as ${name} ${form.trim() || 'group'}, which is not the form of its type`,
  )
}

function buildTree({ schema, location }: StoredSchema): Node {
  let next = 0
  const build = (depth: number): Node => {
    const bytes = schema[next++]
    if (bytes === undefined || depth > MAX_DEPTH) throw new NotCopyableError('the schema of a file is cut off')
    const element = readStored(bytes, location)
    const children: Node[] = []
    const count = readInteger(element.get(5), location) ?? 0
    for (let left = count; left > 0; left -= 1) children.push(build(depth + 1))
    return { ...describe(element, location), children }
  }
  const root = build(0)
  if (next !== schema.length) throw new NotCopyableError('the schema of a file has elements outside of its root')
  return root
}

function describe(element: StoredStruct, location: string): Omit<Node, 'children'> {
  return {
    name: readText(element.get(4), location) ?? '',
    fieldId: readInteger(element.get(9), location),
    isRepeated: readInteger(element.get(3), location) === REPEATED,
    isLeaf: element.has(1),
    form: storedForm(element, location),
  }
}
