import { type Loop, startLoop } from '../../lib/start-loop.ts'
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
 * Opens every catalog configuration that another process with the same state stores. When a configuration cannot be opened
 * here, the old catalog stays in use, and the log has the reason.
 */
export function followCatalogChanges({ catalog, feed, log }: CatalogFollowerDeps): Loop {
  const refresh = (): Promise<void> =>
    catalog.refresh().catch((error: unknown) => log.error('the new catalog could not be opened', { error }))
  return startLoop({
    everyMs: RETRY_MS,
    async tick(signal) {
      const since = await feed.lastSeq()
      await refresh() // of what was stored before
      for await (const { type } of feed.follow(since, signal)) {
        if (signal.aborted) return
        if (type === 'config.changed') await refresh()
      }
    },
    onError: (error) => log.warn('the event log could not be read', { error }),
  })
}
