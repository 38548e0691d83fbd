import type { CatalogService } from './catalog-service.ts'
import type { EventFeed } from '../events/event-feed.ts'
import type { Logger } from '../logger.ts'

export interface CatalogFollowerDeps {
  readonly catalog: CatalogService
  readonly feed: EventFeed
  readonly log: Logger
}

const RETRY_MS = 1000

/**
 * Opens every catalog configuration that another process sharing the state stores. Call the returned function to stop.
 * When a configuration cannot be opened here, the old catalog stays in use and the reason is logged.
 */
export function followCatalogChanges({ catalog, feed, log }: CatalogFollowerDeps): () => void {
  const stop = new AbortController()
  const refresh = (): Promise<void> =>
    catalog.refresh().catch((error: unknown) => log.error('the new catalog could not be opened', { error }))

  /** Also applies a configuration that was stored before the process started to follow. */
  async function follow(): Promise<void> {
    const since = await feed.lastSeq()
    await refresh()
    for await (const { type } of feed.follow(since, stop.signal)) if (type === 'config.changed') await refresh()
  }

  /** Restarts after a database outage. */
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
