import type { Answer } from './store-answers.ts'

interface Session {
  bytes: Buffer
  /** The answer to the request that made the object. */
  finished?: Answer
}

interface SessionRequest {
  readonly method: string
  readonly range: string | undefined
  readonly body: Buffer
  /** Makes the object. */
  readonly store: (bytes: Buffer) => Answer
}

const UNIT = 262_144

/** Resumable uploads (Cloud Storage, "Perform resumable uploads"): bytes in order, parts of multiples of 256 KiB. */
export class GcsSessions {
  /** How many bytes of a request are kept at most. */
  keptBytes = Infinity
  /** The `Content-Range` of each request. */
  readonly ranges: string[] = []
  readonly #open = new Map<string, Session>()

  begin(): string {
    const id = `secret-upload-${this.#open.size}-${Math.random()}`
    this.#open.set(id, { bytes: Buffer.alloc(0) })
    return id
  }

  /** How many uploads were begun and not discarded. */
  get count(): number {
    return this.#open.size
  }

  /** As after a week. */
  discardAll(): void {
    this.#open.clear()
  }

  answer(id: string, { method, range = '', body, store }: SessionRequest): Answer {
    this.ranges.push(range)
    const session = this.#open.get(id)
    if (session === undefined) return { status: 410 }
    if (method === 'DELETE') {
      this.#open.delete(id)
      return { status: 499 }
    }
    if (session.finished !== undefined) return session.finished
    const [, first, last, total = '*'] = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/.exec(range) ?? []
    if (first !== undefined) {
      if (Number(last) - Number(first) + 1 !== body.length || Number(first) > session.bytes.length)
        return { status: 400 }
      const fresh = body.subarray(session.bytes.length - Number(first)) // bytes that are known are ignored
      session.bytes = Buffer.concat([session.bytes, fresh.subarray(0, this.#kept(fresh.length, total !== '*'))])
    }
    if (String(session.bytes.length) !== total) return incomplete(session)
    const answer = store(session.bytes)
    if (answer.status === 200) session.finished = answer
    return answer
  }

  #kept(length: number, isLast: boolean): number {
    const most = Math.min(length, this.keptBytes)
    return isLast && most === length ? length : Math.floor(most / UNIT) * UNIT
  }
}

function incomplete({ bytes }: Session): Answer {
  return { status: 308, headers: bytes.length === 0 ? {} : { Range: `bytes=0-${bytes.length - 1}` } }
}
