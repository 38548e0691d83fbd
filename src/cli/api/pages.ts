import type { Call } from '../command.ts'
import type { Query } from '../api-client.ts'
import { CommandError } from '../errors.ts'
import { type EndpointId, endpointOf, filledPath } from '../endpoint.ts'

/** Entries of a page at most (docs/api.md#lists). */
const MAX_PAGE = 1000

export interface ListRequest {
  /** Values of the path's parameters. */
  readonly ids?: Readonly<Record<string, string>>
  readonly query?: Query
  /** Entries at most; undefined: all. */
  readonly limit?: number | undefined
}

export interface Listed {
  /** As the service answers, with the entries of all pages that were read. */
  readonly answer: unknown
  readonly rows: readonly unknown[]
  /** Whether the service has more entries. */
  readonly hasMore: boolean
}

/** The entries of a list, page after page, until there is none or the limit is reached. */
export async function listAll({ api }: Call, id: EndpointId, { ids = {}, query, limit }: ListRequest): Promise<Listed> {
  const { path, paged = '' } = endpointOf(id)
  const rows: unknown[] = []
  let token: string | undefined
  while (true) {
    const left = limit === undefined ? undefined : limit - rows.length
    const page_size = left === undefined ? undefined : String(Math.min(left, MAX_PAGE))
    const page = await api.send('GET', filledPath(path, ids), { query: { ...query, page_size, page_token: token } })
    const found = entriesOf(page.body, paged)
    append(rows, found)
    const next = paged === '' ? page.nextToken : nextTokenOf(page.body)
    const isFull = limit !== undefined && rows.length >= limit
    if (next === undefined || isFull || found.length === 0) {
      const hasMore = next !== undefined
      const answer = paged === '' ? rows : { ...(page.body as object), [paged]: rows }
      return { answer, rows, hasMore }
    }
    token = next
  }
}

/** Adds entries one by one: a spread overflows the stack of Node at about 120,000 entries. */
function append(rows: unknown[], more: readonly unknown[]): void {
  for (const entry of more) rows.push(entry)
}

function entriesOf(body: unknown, paged: string): readonly unknown[] {
  const entries: unknown = paged === '' ? body : (body as Readonly<Record<string, unknown>> | null)?.[paged]
  if (!Array.isArray(entries)) throw new CommandError('the answer is not a list: is the service of another version?')
  return entries
}

function nextTokenOf(body: unknown): string | undefined {
  return (body as { readonly next_page_token?: string | null }).next_page_token ?? undefined
}
