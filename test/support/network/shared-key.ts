import { createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** A request to Azure, as it was sent. */
export interface AzureRequest {
  readonly method: string
  /** Path and query, as sent. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

/** Why a request is refused: a code of Azure, and the details of its response. */
export interface AzureRefusal {
  readonly status: number
  readonly code: string
  readonly detail: string
}

export interface SharedKeyRule {
  readonly account: string
  /** In Base64. */
  readonly key: string
  /** The time of the service, ms. */
  readonly nowMs: number
}

const MAX_SKEW_MS = 15 * 60_000
/** The headers of the string to sign before those that begin with `x-ms-`, in this order. */
const HEADERS = [
  'content-encoding',
  'content-language',
  'content-length',
  'content-md5',
  'content-type',
  'date',
  'if-modified-since',
  'if-match',
  'if-none-match',
  'if-unmodified-since',
  'range',
]

/**
 * Checks a request as Azure documents it ("Authorize with Shared Key": string to sign, canonicalized headers and resource),
 * without an SDK. Undefined if it is signed with the key.
 */
export function checkSharedKey(
  request: AzureRequest,
  { account, key, nowMs }: SharedKeyRule,
): AzureRefusal | undefined {
  const { authorization = '' } = request.headers
  const [, name, signature] = /^SharedKey ([a-z0-9]+):([A-Za-z0-9+/=]+)$/.exec(authorization) ?? []
  if (name === undefined) return { status: 401, code: 'NoAuthenticationInformation', detail: '' }
  const date = one(request.headers['x-ms-date'])
  if (!(Math.abs(Date.parse(date) - nowMs) < MAX_SKEW_MS)) return refusal(`Request date header too old: '${date}'`)
  const toSign = stringToSign(request, account)
  const expected = createHmac('sha256', Buffer.from(key, 'base64')).update(toSign).digest('base64')
  if (name === account && signature === expected) return undefined
  return refusal(`The MAC signature '${signature}' is not the expected one. String to sign: '${toSign}'`)
}

function refusal(detail: string): AzureRefusal {
  return { status: 403, code: 'AuthenticationFailed', detail }
}

function stringToSign({ method, url, headers }: AzureRequest, account: string): string {
  const plain = HEADERS.map((name) => (name === 'content-length' && headers[name] === '0' ? '' : one(headers[name])))
  const named = Object.keys(headers)
    .filter((name) => name.startsWith('x-ms-'))
    .sort()
    .map((name) => `${name}:${one(headers[name]).trim()}`)
  const { pathname, searchParams } = new URL(url, 'http://store')
  const query = [...searchParams].map(([name, value]) => `${name.toLowerCase()}:${value}`).sort()
  return [method, ...plain, ...named, `/${account}${pathname}`, ...query].join('\n')
}

function one(value: string | string[] | undefined): string {
  return Array.isArray(value) ? value.join(',') : (value ?? '')
}
