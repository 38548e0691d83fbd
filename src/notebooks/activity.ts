import type { Fetch } from '../domain/network/fetch.ts'
import type { NotebookTarget } from './target.ts'

/** Activity reported by a notebook server. */
export interface NotebookActivity {
  /** Whether a kernel is busy. */
  readonly busy: boolean
  /** Last activity of a kernel or terminal, in ms since the epoch; undefined when there is none. */
  readonly lastMs: number | undefined
}

export interface ActivityReaderDeps {
  readonly fetch: Fetch
  readonly nowMs: () => number
  readonly timeoutMs: number
}

/** Reads the activity of a notebook server; undefined when it cannot be read, which does not mean that it is idle. */
export type ActivityReader = (target: NotebookTarget, basePath: string) => Promise<NotebookActivity | undefined>

const MAX_BYTES = 2 ** 20

/**
 * Reads the activity of a notebook from its kernels and terminals. The server's own `last_activity` also counts
 * requests, and an open tab sends some every few seconds, so a forgotten tab would never become idle.
 */
export function createActivityReader({ fetch, nowMs, timeoutMs }: ActivityReaderDeps): ActivityReader {
  const read = async (target: NotebookTarget, path: string): Promise<unknown> => {
    const response = await fetch(`${target.baseUrl}${path}`, {
      headers: { Authorization: `token ${target.token}` },
      redirect: 'manual', // the user controls the server: do not follow its redirects
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
    if (length > MAX_BYTES) throw new Error('the response is too long')
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

function field(value: unknown, key: string): string {
  const found = typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[key] : ''
  return typeof found === 'string' ? found : ''
}
