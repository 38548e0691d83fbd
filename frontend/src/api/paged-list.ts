import { api, type RequestOptions } from './client.ts'

/** A page of a bare array; `next` is the token of the page after it (docs/api.md#lists). */
export interface Page<T> {
  readonly items: readonly T[]
  readonly next: string | undefined
}

/** Reads a page of a list whose next page is in the `Link` header (RFC 8288). */
export async function fetchPage<T>(path: string, options: RequestOptions = {}): Promise<Page<T>> {
  const { body, headers } = await api.send<readonly T[]>('GET', path, options)
  return { items: body, next: nextPageToken(headers.get('Link')) }
}

/** The page token of a `Link: <…>; rel="next"` header; undefined on the last page. */
export function nextPageToken(link: string | null): string | undefined {
  const address = /<([^>]*)>\s*;\s*rel="next"/.exec(link ?? '')?.[1]
  if (address === undefined) return undefined
  return new URLSearchParams(address.split('?')[1] ?? '').get('page_token') ?? undefined
}
