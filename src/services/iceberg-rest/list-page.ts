import { DomainError } from '../../domain/errors.ts'
import { sha256Hex } from '../../lib/sha256.ts'

/** Which part of a list a client asks for; without `pageToken`, all of it. */
export interface ListQuery {
  /** Empty for the first page. */
  readonly pageToken: string | undefined
  readonly pageSize: string | undefined
}

export interface ListPart<T> {
  readonly items: readonly T[]
  /** The token of the next page; null on the last. */
  readonly next: string | null
}

const MAX_PAGE_SIZE = 10_000

/**
 * A page of a list that is sorted by `nameOf` in code units, after the last name of the page before: entries that come
 * or go meanwhile move no other. Throws `INVALID_REQUEST` for a token or size that is none.
 */
export function listPage<T>(all: readonly T[], nameOf: (item: T) => string, query: ListQuery): ListPart<T> {
  const size = sizeOf(query.pageSize)
  if (query.pageToken === undefined && query.pageSize === undefined) return { items: all, next: null }
  const after = query.pageToken === undefined || query.pageToken === '' ? undefined : decode(query.pageToken)
  const rest = after === undefined ? all : all.filter((item) => nameOf(item) > after)
  const items = rest.slice(0, size)
  const last = items.at(-1)
  return { items, next: rest.length > items.length && last !== undefined ? encode(nameOf(last)) : null }
}

function sizeOf(text: string | undefined): number {
  if (text === undefined) return MAX_PAGE_SIZE
  if (/^[1-9]\d{0,8}$/.test(text)) return Math.min(Number(text), MAX_PAGE_SIZE)
  throw new DomainError('INVALID_REQUEST', 'pageSize must be a whole number from 1')
}

/** The name, and a check of it: other text is no token. */
function encode(name: string): string {
  return `${encodeURIComponent(name)}~${checkOf(name)}`
}

function decode(token: string): string {
  const parts = /^(.*)~([\da-f]{16})$/s.exec(token)
  const name = decodeName(parts?.[1] ?? '')
  if (name !== undefined && parts?.[2] === checkOf(name)) return name
  throw new DomainError(
    'INVALID_REQUEST',
    'pageToken is not one of this service: send the next-page-token of an answer',
  )
}

function decodeName(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function checkOf(name: string): string {
  return sha256Hex(`page after ${name}`).slice(0, 16)
}
