import type { z } from 'zod'
import type { Exchange } from '../../middleware/exchange.ts'
import { jsonResponse } from '../../middleware/security-headers.ts'
import type { Wire } from '../../schemas/wire.ts'
import { isNotModified } from './entity-tag.ts'

/** One success response of a route. */
export interface ResponseSpec {
  readonly description: string
  /** Shape of the JSON body; without one, and for a stream's events, see {@link Answer}. */
  readonly schema?: z.ZodType
  /** For a handler that returns a whole `Response`; default: JSON. */
  readonly contentType?: string
  /** Whether the handler may return an event stream instead of JSON, when the client accepts it. */
  readonly orEventStream?: true
  /** OpenAPI links: follow-up routes by `operationId`, with JSON pointers to their path parameters in the body. */
  readonly links?: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** The success responses of a route by status. */
export type Responses = Readonly<Partial<Record<101 | 200 | 201 | 202 | 204 | 303 | 503, ResponseSpec>>>

/** JSON text of a value, made before. */
export class JsonText<T> {
  readonly text: string
  /** Only a type: whatever has this shape is in the text. */
  declare readonly value: T

  constructor(text: string) {
    this.text = text
  }
}

/** A JSON response: one of the statuses with a body of its schema, or without a body when it has no schema. */
export type JsonAnswer<Status, Spec> = {
  readonly status: Status
  readonly headers?: Readonly<Record<string, string>>
} & (Spec extends { readonly schema: infer S extends z.ZodType }
  ? { readonly body: Wire<S> | JsonText<Wire<S>> }
  : { readonly body?: undefined })

/**
 * What a handler may return: a JSON response, or a whole `Response` where that is declared by
 * `contentType`, by `orEventStream`, or by the status 101 of an upgrade.
 */
export type Answer<R> = {
  [Status in keyof R]: Status extends 101
    ? Response
    : R[Status] extends { readonly contentType: string }
      ? Response
      : JsonAnswer<Status, R[Status]> | (R[Status] extends { readonly orEventStream: true } ? Response : never)
}[keyof R]

interface AnyJson {
  readonly status: PropertyKey
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Builds the response; 304 when the client already has it (RFC 9110, section 13.1.2). */
export function respond(exchange: Exchange, answer: AnyJson | Response): Response {
  const response = answer instanceof Response ? answer : toResponse(exchange, answer)
  if (exchange.header('if-none-match') === undefined) return response
  const { method } = exchange
  if (method === 'GET' || method === 'HEAD') {
    if (isNotModified(exchange.headers, response.headers.get('etag'))) return notModified(response)
  }
  return response
}

function toResponse(exchange: Exchange, { status, body, headers }: AnyJson): Response {
  if (body === undefined) return new Response(null, { status: Number(status), headers: { ...headers } })
  const text = body instanceof JsonText ? body.text : JSON.stringify(body)
  return jsonResponse(exchange, text, { status: Number(status), headers })
}

function notModified({ headers }: Response): Response {
  headers.delete('content-type')
  return new Response(null, { status: 304, headers })
}
