import { useEffect, useEffectEvent } from 'react'
import { readEventStream } from './event-stream.ts'
import type { LogEvent } from './types.ts'

type Listener = (event: LogEvent) => void

const listeners = new Set<Listener>()
let open: AbortController | undefined

/** Hears what happens in the service from now on, over one stream for the whole page. Call the answer to stop. */
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
      onEvent: ({ data }) => {
        const event = JSON.parse(data) as LogEvent
        for (const listener of listeners) listener(event)
      },
    })
  } catch {
    // refused: signed out, or below every role. What is on the page says so; a new subscriber tries again
  }
  if (open === control) open = undefined
}

/** Hears events of the service whose type begins with `prefix`, such as `approval.`, while the component is there. */
export function useLiveEvents(prefix: string, onEvent: Listener): void {
  const hear = useEffectEvent((event: LogEvent) => {
    if (event.type.startsWith(prefix)) onEvent(event)
  })
  useEffect(() => subscribeToEvents((event) => hear(event)), [])
}
