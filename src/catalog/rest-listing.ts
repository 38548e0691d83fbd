import { IcebergError } from '../iceberg/errors.ts'
import type { JsonObject } from '../iceberg/json/lossless-json.ts'
import type { RestClient } from './rest-client.ts'
import { answerJson } from './rest-errors.ts'
import type { RestPage } from './rest-messages.ts'
import { withQuery } from './rest-routes.ts'

export interface RestList<T> {
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly read: (json: JsonObject) => RestPage<T>
}

const PAGE_SIZE = '1000'

/** A list that has more is none that a person or a plan could use. */
const MAX_ITEMS = 1_000_000

/** All pages of a list. `IO_FAILED` when the catalog sends in circles, or never ends. */
export async function listAll<T>(client: RestClient, { path, query, read }: RestList<T>): Promise<readonly T[]> {
  const items: T[] = []
  const seen = new Set<string>()
  for (let token: string | undefined = ''; token !== undefined;) {
    if (seen.has(token) || items.length > MAX_ITEMS) {
      throw new IcebergError('IO_FAILED', 'The catalog answers a list that does not end.')
    }
    seen.add(token)
    const paged: string = withQuery(path, { ...query, pageToken: token, pageSize: PAGE_SIZE })
    const page: RestPage<T> = read(answerJson(await client.request({ method: 'GET', path: paged })))
    for (const item of page.items) items.push(item)
    token = page.next
  }
  return items
}
