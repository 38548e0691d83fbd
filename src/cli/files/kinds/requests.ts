import type { z } from 'zod'
import { check, fieldErrors } from '../../../schemas/issues.ts'
import type { ApiAnswer } from '../../api-client.ts'
import type { Call } from '../../command.ts'
import { type EndpointId, endpointOf, filledPath } from '../../endpoint.ts'
import type { CheckedDocument, Described, Ownership, Settings } from './kind.ts'

/** Checks a document with the schema of a request. */
export function checkDocument<Schema extends z.ZodType>(
  schema: Schema,
  document: unknown,
  described: (request: z.output<Schema>) => Described,
): CheckedDocument {
  const checked = check(schema, document)
  if (!checked.success) return { success: false, errors: fieldErrors(checked.error.issues) }
  return { success: true, described: described(checked.data) }
}

/** A value as plain JSON, without members that are undefined. */
export function plainJson(value: object): Settings {
  return JSON.parse(JSON.stringify(value))
}

/** The members of an object that have these names. */
export function pick(from: Settings, names: readonly string[]): Settings {
  return Object.fromEntries(names.flatMap((name) => (Object.hasOwn(from, name) ? [[name, from[name]]] : [])))
}

export interface ChangeSpec extends Partial<Ownership> {
  /** Values of the path's parameters. */
  readonly ids?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** The version that the change is based on. */
  readonly tag?: string | undefined
}

/** Changes something for an owner. */
export function sendChange({ api }: Call, id: EndpointId, spec: ChangeSpec): Promise<ApiAnswer> {
  const { method, path } = endpointOf(id)
  const { ids = {}, body, owner, adopts, tag } = spec
  return api.send(method, filledPath(path, ids), {
    query: { managed_by: owner, adopt: adopts === true ? 'true' : undefined },
    ...(body === undefined ? {} : { body }),
    ...(tag === undefined ? {} : { headers: { 'If-Match': tag } }),
  })
}

/** The value for `If-Match` of a revision. */
export function revisionTag(revision: number): string {
  return `"${revision}"`
}
