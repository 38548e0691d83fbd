import { IcebergError } from '../../iceberg/errors.ts'
import type { JsonObject } from '../../iceberg/json/lossless-json.ts'
import type { RestClient } from './client.ts'
import { answerJson } from './errors.ts'
import type { RestPage } from './messages.ts'
import { withQuery } from './routes.ts'

export interface RestList<T> {
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly read: (json: JsonObject) => RestPage<T>
}

const PAGE_SIZE = '1000'

/** Longer lists are of no practical use. */
const MAX_ITEMS = 1_000_000

/** All pages of a list. Throws `IO_FAILED` when the page tokens repeat or the list never ends. */
export async function listAll<T>(client: RestClient, { path, query, read }: RestList<T>): Promise<readonly T[]> {
  const items: T[] = []
  const seen = new Set<string>()
  for (let token: string | undefined = ''; token !== undefined;) {
    if (seen.has(token) || items.length > MAX_ITEMS) {
      throw new IcebergError('IO_FAILED', 'The catalog returned a list that does not end.')
    }
    seen.add(token)
    const paged: string = withQuery(path, { ...query, pageToken: token, pageSize: PAGE_SIZE })
    const page: RestPage<T> = read(answerJson(await client.request({ method: 'GET', path: paged })))
    for (const item of page.items) items.push(item)
    token = page.next
  }
  return items
}
