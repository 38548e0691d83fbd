import { eventList, listEventsQuery } from '../schemas/governance.ts'
import { DomainError } from '../domain/errors.ts'
import { matchesFilter } from '../domain/event-type.ts'
import type { EventFeed } from '../services/events/event-feed.ts'
import { isVisibleEvent, visibleEvents } from '../services/identity/access/visible-events.ts'
import { decodePageToken, encodePageToken } from '../services/paging/page-token.ts'
import { eventStream } from './routing/event-stream.ts'
import { type Route, route, stillAllowed } from './routing/route.ts'

/** Events of a page without `page_size` (docs/api.md#lists). */
const DEFAULT_LIMIT = 100

/** Events, as a resumable list or as a stream. */
export function eventRoutes({ feed }: { readonly feed: EventFeed }): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/events',
      operationId: 'listEvents',
      reach: 'filtered',
      summary:
        'Events after `since`, oldest first; with `Accept: text/event-stream` as a continuing stream, ' +
        'from `Last-Event-ID`, else `since`, else now; with `type` only those of that type',
      minRole: 'Auditor',
      query: listEventsQuery,
      responses: {
        200: {
          description: 'Events, numbered without gaps in commit order',
          schema: eventList,
          orEventStream: true,
        },
      },
    }).handle(async (input) => {
      const { query, exchange } = input
      if (exchange.header('accept')?.includes('text/event-stream')) {
        const since = lastEventId(exchange.header('last-event-id')) ?? query.since
        const { signal } = exchange.request
        return eventStream({ signal, isAllowed: stillAllowed(input, 'Auditor') }, async function* (streamSignal) {
          for await (const event of feed.follow(since, streamSignal)) {
            if (matchesFilter(event.type, query.type ?? '*') && (await isVisibleEvent(input.caller, event))) {
              yield { event: event.type, data: event, id: String(event.seq) }
            }
          }
        })
      }
      const since = Math.max(query.since ?? 0, decodePageToken(query.page_token, seqIn) ?? 0)
      const limit = query.page_size ?? query.limit ?? DEFAULT_LIMIT
      const found = await feed.after(since, limit + 1, query.type)
      const read = found.slice(0, limit)
      const last = read.at(-1)?.seq ?? since
      const events = await visibleEvents(input.caller, read)
      const token = found.length > limit ? encodePageToken(['events', last]) : null
      return { status: 200, body: { success: true, events, last_seq: last, next_page_token: token } }
    }),
  ]
}

function seqIn(position: unknown): number | undefined {
  if (!Array.isArray(position) || position.length !== 2 || position[0] !== 'events') return undefined
  const seq: unknown = position[1]
  return typeof seq === 'number' && Number.isSafeInteger(seq) && seq > 0 ? seq : undefined
}

function lastEventId(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new DomainError('INVALID_REQUEST', 'invalid Last-Event-ID: send the id of an event of this log')
}
