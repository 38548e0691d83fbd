import type { CatalogService } from './catalog-service.ts'
import type { EventFeed } from './event-feed.ts'
import type { Logger } from './logger.ts'

export interface CatalogFollowerDeps {
  readonly catalog: CatalogService
  readonly feed: EventFeed
  readonly log: Logger
}

const RETRY_MS = 1000

/**
 * Takes over every catalog configuration that another process of the same state stores, until the answer is called.
 * One that cannot be opened here leaves the old catalog in use, and the reason in the log.
 */
export function followCatalogChanges({ catalog, feed, log }: CatalogFollowerDeps): () => void {
  const stop = new AbortController()
  const refresh = (): Promise<void> =>
    catalog.refresh().catch((error: unknown) => log.error('the new catalog could not be opened', { error }))

  /** What was stored before there was anybody to follow it is taken over, too. */
  async function follow(): Promise<void> {
    const since = await feed.lastSeq()
    await refresh()
    for await (const { type } of feed.follow(since, stop.signal)) if (type === 'config.changed') await refresh()
  }

  /** Goes on when the database was away for a while. */
  function begin(): void {
    follow().catch((error: unknown) => {
      log.warn('the event log could not be read', { error })
      const again = setTimeout(begin, RETRY_MS)
      stop.signal.addEventListener('abort', () => clearTimeout(again))
    })
  }

  begin()
  return () => stop.abort()
}
