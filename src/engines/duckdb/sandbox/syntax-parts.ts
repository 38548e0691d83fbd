import { isJsonObject } from '../../../iceberg/json/json-fields.ts'
import type { JsonObject, JsonValue } from '../../../iceberg/json/lossless-json.ts'
import type { OtherSyntax } from '../../sql-syntax.ts'

/** A part as an object; what is none has no members. */
export function objectOf(part: JsonValue | undefined): JsonObject {
  return isJsonObject(part) ? part : {}
}

/** A part as a list; what is none is empty. */
export function listOf(part: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(part) ? part : []
}

/** A member that is text; empty when it is none. */
export function textIn(tree: JsonObject, name: string): string {
  const part = tree[name]
  return typeof part === 'string' ? part : ''
}

/** Whether a part says nothing. */
export function isEmptyPart(part: JsonValue | undefined): boolean {
  return (
    part === undefined || part === null || part === '' || part === false || (Array.isArray(part) && part.length === 0)
  )
}

/** Syntax that is only named. */
export function other(what: string, { isPerBatch = false } = {}): OtherSyntax {
  return { kind: 'other', what, isPerBatch }
}
