import type { NotebookTarget } from './notebook-target.ts'

/** What a notebook server says of itself. */
export interface NotebookActivity {
  /** Whether a kernel computes. */
  readonly busy: boolean
  /** When a kernel or a terminal last said something, in ms; undefined when there is none. */
  readonly lastMs: number | undefined
}

export interface ActivityReaderDeps {
  readonly fetch: typeof fetch
  readonly nowMs: () => number
  readonly timeoutMs: number
}

/** Asks a notebook server under its path; undefined when it does not say: that is no sign of idleness. */
export type ActivityReader = (target: NotebookTarget, basePath: string) => Promise<NotebookActivity | undefined>

const MAX_BYTES = 2 ** 20

/**
 * Reads the activity of a notebook from its kernels and terminals. The server's own `last_activity` counts requests
 * too, and an open tab makes some every few seconds: by it, a forgotten tab would never be idle.
 */
export function createActivityReader({ fetch, nowMs, timeoutMs }: ActivityReaderDeps): ActivityReader {
  const read = async (target: NotebookTarget, path: string): Promise<unknown> => {
    const response = await fetch(`${target.baseUrl}${path}`, {
      headers: { Authorization: `token ${target.token}` },
      redirect: 'manual', // the server is its user's: it must not send us elsewhere
      signal: AbortSignal.timeout(timeoutMs),
    })
    if (response.status === 200) return JSON.parse(await readText(response)) as unknown
    await response.body?.cancel()
    if (response.status === 404 && path.endsWith('/terminals')) return [] // a server without terminals
    throw new Error(`status ${response.status}`)
  }
  return async (target, basePath) => {
    const askedMs = nowMs()
    try {
      const [kernels, terminals] = await Promise.all([
        read(target, `${basePath}api/kernels`),
        read(target, `${basePath}api/terminals`),
      ])
      if (!Array.isArray(kernels) || !Array.isArray(terminals)) return undefined
      const times = [...kernels, ...terminals].map((one) => Date.parse(field(one, 'last_activity')))
      const past = times.filter((time) => !Number.isNaN(time)).map((time) => Math.min(time, askedMs))
      return {
        busy: kernels.some((kernel) => field(kernel, 'execution_state') === 'busy'),
        lastMs: past.length > 0 ? Math.max(...past) : undefined,
      }
    } catch {
      return undefined
    }
  }
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > MAX_BYTES) throw new Error('the answer is too long')
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

function field(value: unknown, key: string): string {
  const found = typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[key] : ''
  return typeof found === 'string' ? found : ''
}
