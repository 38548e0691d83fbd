import { IcebergError, type IcebergErrorCode } from '../../iceberg/errors.ts'
import { asObject, isJsonObject } from '../../iceberg/json/json-fields.ts'
import { parseJson, type JsonObject } from '../../iceberg/json/lossless-json.ts'
import { NoAnswerError, type RestAnswer } from './exchange.ts'

/** An error response of a catalog (Iceberg REST specification, `ErrorModel`) as a catalog error. */
export class RestError extends IcebergError {
  readonly status: number
  /** The server's name for it, such as `NoSuchTableException`; empty when it has none. */
  readonly type: string

  constructor(code: IcebergErrorCode, message: string, { status, type }: { status: number; type: string }) {
    super(code, message)
    this.status = status
    this.type = type
  }
}

/** No request was sent, because the credentials for it could not be obtained. */
export class NotSentError extends IcebergError {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super('IO_FAILED', message, options)
  }
}

/** No token could be obtained. */
export class NoTokenError extends NotSentError {
  constructor(why: string, options?: { readonly cause?: unknown }) {
    super(`Could not get a catalog token from the token endpoint: ${why}.`, options)
  }
}

const MAX_MESSAGE = 500

const CODES: Readonly<Record<number, IcebergErrorCode>> = {
  400: 'INVALID_ARGUMENT',
  406: 'UNSUPPORTED',
  501: 'UNSUPPORTED',
}

/** Advice to add to the server's message. */
const ADVICE: Readonly<Record<number, string>> = {
  401: ' Check extra_props.token or extra_props.credential.',
  403: ' The configured user does not have this permission in the catalog.',
  419: ' Check extra_props.token or extra_props.credential.',
}

export interface RestErrorOptions {
  /** Removes secrets from the server's message. */
  readonly hide: (text: string) => string
  /** Advice for a refused credential; default: about tokens. */
  readonly advice?: string
}

/** The error for an unsuccessful response. */
export function restError({ status, headers, bytes }: RestAnswer, { hide, advice }: RestErrorOptions): RestError {
  if (status >= 300 && status < 400) {
    const message = 'The catalog redirects, which is not followed: set uri to the address that it redirects to.'
    return new RestError('IO_FAILED', message, { status, type: headers.has('location') ? 'Redirect' : '' })
  }
  const { type, message } = errorModel(bytes, headers)
  const said = message === '' ? '' : `: ${hide(message).slice(0, MAX_MESSAGE).replace(/\.$/, '')}`
  const text = `The catalog refused with status ${status}${said}.${adviceOn(status, advice)}`
  return new RestError(CODES[status] ?? 'IO_FAILED', text, { status, type })
}

/** Whether `error` is a refusal with this status. */
export function hasStatus(error: unknown, status: number): error is RestError {
  return error instanceof RestError && error.status === status
}

/** Whether a write request with this error certainly changed nothing; false for an unreadable response. */
export function isCertainRefusal(error: unknown): boolean {
  if (error instanceof RestError) return error.status < 500 && error.status !== 408
  return error instanceof NotSentError || (error instanceof NoAnswerError && !error.sent)
}

/** The JSON object in a response. Throws `IO_FAILED` for anything else. */
export function answerJson({ bytes }: RestAnswer): JsonObject {
  try {
    return asObject(parseJson(bytes), 'answer of the catalog')
  } catch (cause) {
    throw new IcebergError('IO_FAILED', 'The response of the catalog is not a JSON object.', { cause })
  }
}

function adviceOn(status: number, advice: string | undefined): string {
  const usual = ADVICE[status] ?? ''
  return usual === '' ? '' : (advice ?? usual)
}

/** AWS has the message at the top level, and the type in a header. */
function errorModel(bytes: Uint8Array, headers: Headers): { readonly type: string; readonly message: string } {
  const json = jsonOrNothing(bytes)
  const { type, message } = isJsonObject(json['error']) ? json['error'] : json
  const text = message ?? json['Message']
  return {
    type: typeof type === 'string' ? type : (headers.get('x-amzn-errortype') ?? ''),
    message: typeof text === 'string' ? text : '',
  }
}

function jsonOrNothing(bytes: Uint8Array): JsonObject {
  try {
    const json = parseJson(bytes)
    return isJsonObject(json) ? json : {}
  } catch {
    return {} // an error page of a proxy
  }
}
