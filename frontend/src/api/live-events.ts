import { useEffect, useEffectEvent } from 'react'
import { readEventStream } from './event-stream.ts'
import { queryClient } from './query-client.ts'
import type { LogEvent } from './types.ts'

type Listener = (event: LogEvent) => void

const listeners = new Set<Listener>()
let open: AbortController | undefined

/** Subscribes to events of the service, over one stream for the whole page. Call the returned function to unsubscribe. */
export function subscribeToEvents(listener: Listener): () => void {
  listeners.add(listener)
  if (!open) {
    open = new AbortController()
    void follow(open)
  }
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    open?.abort()
    open = undefined
  }
}

async function follow(control: AbortController): Promise<void> {
  try {
    await readEventStream('/api/events', {
      signal: control.signal,
      endsItself: false, // the log has no end: a stream that ends was cut off, by a restart or a proxy
      onConnection: resyncAfterBreak(),
      onEvent: ({ data }) => {
        const event = JSON.parse(data) as LogEvent
        for (const listener of listeners) listener(event)
      },
    })
  } catch {
    // refused: signed out, or no role. The page shows it; a new subscriber tries again
  }
  if (open === control) open = undefined
}

/** Events during a connection loss may be missing, so all visible data is reloaded after a reconnect. */
function resyncAfterBreak(): (isOpen: boolean) => void {
  let wasCut = false
  return (isOpen) => {
    if (isOpen && wasCut) void queryClient.invalidateQueries()
    wasCut = !isOpen
  }
}

/**
 * Subscribes to events of the service whose type begins with `prefix`, such as `approval.`, while the component is mounted and
 * `enabled`.
 */
export function useLiveEvents(prefix: string, onEvent: Listener, enabled = true): void {
  const hear = useEffectEvent((event: LogEvent) => {
    if (event.type.startsWith(prefix)) onEvent(event)
  })
  useEffect(() => (enabled ? subscribeToEvents((event) => hear(event)) : undefined), [enabled])
}
