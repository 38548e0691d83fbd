import { eventList, listEventsQuery } from '../schemas/governance.ts'
import { DomainError } from '../domain/errors.ts'
import { isWishedFor } from '../domain/event-type.ts'
import type { EventFeed } from '../services/event-feed.ts'
import { eventStream } from './event-stream.ts'
import { type Route, route, stillAllowed } from './route.ts'

const DEFAULT_LIMIT = 100

/** What happens, as a list to resume or as a stream. */
export function eventRoutes({ feed }: { readonly feed: EventFeed }): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/events',
      operationId: 'listEvents',
      summary:
        'Events after `since`, oldest first; with `Accept: text/event-stream` as a stream that goes on, ' +
        'from `Last-Event-ID`, else `since`, else now; with `type` only those of that type',
      minRole: 'Auditor',
      query: listEventsQuery,
      responses: {
        200: { description: 'Events, numbered without gaps in the order they became true', schema: eventList },
      },
      handle: async (input) => {
        const { query, headers, signal } = input
        if (headers.get('accept')?.includes('text/event-stream')) {
          const since = lastEventId(headers) ?? query.since
          return eventStream({ signal, isAllowed: stillAllowed(input, 'Auditor') }, async function* (streamSignal) {
            for await (const event of feed.follow(since, streamSignal)) {
              if (isWishedFor(event.type, query.type ?? '*')) {
                yield { event: event.type, data: event, id: String(event.seq) }
              }
            }
          })
        }
        const since = query.since ?? 0
        const events = await feed.after(since, query.limit ?? DEFAULT_LIMIT, query.type)
        return { status: 200, body: { success: true, events, last_seq: events.at(-1)?.seq ?? since } }
      },
    }),
  ]
}

function lastEventId(headers: Headers): number | undefined {
  const text = headers.get('last-event-id')
  if (text === null) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new DomainError('INVALID_REQUEST', 'Last-Event-ID is not a number of this log')
}
