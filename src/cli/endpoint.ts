import type { Method } from './api-client.ts'
import { ENDPOINTS } from './generated/endpoints.ts'
import type { AnswerFields, BodyFields } from './generated/fields.ts'

/** Names of the routes in the API's document. */
export type EndpointId = keyof typeof ENDPOINTS

/** A field of a query or of a body. */
export interface FieldSpec {
  /** `word`: a word, or an object as JSON. */
  readonly kind: 'text' | 'integer' | 'number' | 'flag' | 'list' | 'word' | 'json'
  readonly choices?: readonly string[]
  readonly help?: string
  readonly required?: true
}

/** What the command line knows of a route. */
export interface Endpoint {
  readonly method: Method
  /** As in OpenAPI: `/api/table/{table_name}/schema`. */
  readonly path: string
  readonly summary: string
  readonly query: Readonly<Record<string, FieldSpec>>
  readonly body: Readonly<Record<string, FieldSpec>>
  /** The member that has the entries of a page; empty: the answer is the list itself. Undefined: it is not a paged list. */
  readonly paged?: string
}

/** Names of the fields of a body. */
export type BodyField<Id extends EndpointId> = BodyFields[Id]

/** A field of an answer, such as `pipeline.state`. */
export type AnswerField<Id extends EndpointId> = AnswerFields[Id]

/** A list in an answer, or the answer itself as `''`. */
export type ListName<Id extends EndpointId> =
  AnswerField<Id> extends infer Path ? (Path extends `${infer Name}[].${string}` ? Name : never) : never

/** A field of the entries of a list in an answer. */
export type RowField<Id extends EndpointId, List extends string> =
  AnswerField<Id> extends infer Path ? (Path extends `${List}[].${infer Field}` ? Field : never) : never

const parsed = new Map<EndpointId, Endpoint>()

/** What is known of a route. */
export function endpointOf(id: EndpointId): Endpoint {
  const known = parsed.get(id)
  if (known !== undefined) return known
  const endpoint = JSON.parse(ENDPOINTS[id]) as Endpoint
  parsed.set(id, endpoint)
  return endpoint
}

/** Names in `{…}` of a path, in order. */
export function pathParameters(path: string): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
}

/** A path with the values of its parameters, encoded. */
export function filledPath(path: string, values: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))
}

/** Whether a text names a field that the route accepts in its body. */
export function isBodyField({ body }: Endpoint, name: string): boolean {
  return Object.hasOwn(body, name)
}
