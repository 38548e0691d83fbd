import type { AgentEvent } from '../../agent/loop/agent-event.ts'
import { describeProblem } from '../../middleware/error-handler.ts'
import type { OpenChat } from '../../agent/chats/agent-service.ts'
import { eventStream, type ServerEvent } from '../routing/event-stream.ts'
import { type RouteInput, stillAllowed } from '../routing/route.ts'

type StreamInput = Pick<RouteInput<never, never, never>, 'caller' | 'exchange'>

/**
 * A run of the agent as server-sent events, named as the events of the run are, then `done` with the whole answer or
 * `error` with a problem document. The run ends when the client disconnects or loses access.
 */
export function agentStream(chat: OpenChat, input: StreamInput): Response {
  const isAllowed = stillAllowed(input, 'DataEngineer')
  return eventStream({ signal: input.exchange.request.signal, isAllowed }, async function* (signal) {
    const queue = new EventQueue()
    const onEvent = (event: AgentEvent): void => queue.put(toServerEvent(event))
    chat.run({ signal, onEvent }).then(
      (answer) => queue.end({ event: 'done', data: answer }),
      (error: unknown) => queue.end({ event: 'error', data: describeProblem(error, input.exchange.requestId) }),
    )
    yield* queue.events()
  })
}

function toServerEvent({ type, ...data }: AgentEvent): ServerEvent {
  return { event: type, data }
}

/** Queues events between a run and a slower client; its size is bounded by the limits of the run. */
class EventQueue {
  #waiting: ServerEvent[] = []
  #isEnded = false
  #wake: () => void = () => undefined

  put(event: ServerEvent): void {
    this.#waiting.push(event)
    this.#wake()
  }

  end(event: ServerEvent): void {
    this.#isEnded = true
    this.put(event)
  }

  async *events(): AsyncGenerator<ServerEvent> {
    for (;;) {
      const taken = this.#waiting
      this.#waiting = []
      yield* taken
      if (this.#waiting.length > 0) continue
      if (this.#isEnded) return
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}
