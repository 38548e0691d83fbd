import type { CallOptions, TestService } from '../../support/service.ts'

/** The outcome of a question to the agent, as a document or as a stream. */
export interface ChatEnd {
  /** 200 for an answer. For a stream that ended with an error, the status of the same error as a document. */
  readonly status: number
  /** The answer, or the problem document. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read fields of answers without types
  readonly body: any
  /** The whole response as text. */
  readonly text: string
}

export type ChatWay = 'json' | 'stream'

export const CHAT_WAYS: readonly ChatWay[] = ['json', 'stream']

/** Asks the agent of a service, for one document or for an event stream. */
export async function chat(
  service: TestService,
  request: Readonly<Record<string, unknown>>,
  { way = 'json', ...options }: CallOptions & { readonly way?: ChatWay } = {},
): Promise<ChatEnd> {
  if (way === 'json') {
    const { status, body } = await service.post('/api/agent/chat', request, options)
    return { status, body, text: JSON.stringify(body) }
  }
  const headers = { ...options.headers, Accept: 'text/event-stream' }
  const { status, body } = await service.post('/api/agent/chat', request, { ...options, headers })
  if (typeof body !== 'string') return { status, body, text: JSON.stringify(body) }
  const last = eventsOf(body).findLast(({ event }) => event === 'done' || event === 'error')
  const data = last?.data as { status?: number } | undefined
  return { status: last?.event === 'done' ? 200 : (data?.status ?? 0), body: data, text: body }
}

/** The events of a stream, without comments. */
export function eventsOf(text: string): { readonly event: string; readonly data: unknown }[] {
  return text.split('\n\n').flatMap((block) => {
    const event = /^event: ([^\n]*)/.exec(block)?.[1]
    const data = /\ndata: ([^\n]*)/.exec(block)?.[1]
    return event === undefined || data === undefined ? [] : [{ event, data: JSON.parse(data) as unknown }]
  })
}
