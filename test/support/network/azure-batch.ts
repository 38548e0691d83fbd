import type { IncomingHttpHeaders } from 'node:http'
import type { Answer } from './store-answers.ts'

/** A request inside of a batch. */
export interface BatchedRequest {
  readonly method: string
  /** Path and query, as sent. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

const LINE = '\r\n'
const BOUNDARY = 'batchresponse_fake'

/** The requests of a batch (Azure, "Blob Batch"): parts of `multipart/mixed`, each an HTTP request without a body. */
export function batchedDeletes(body: string, contentType: string): readonly BatchedRequest[] {
  const boundary = /boundary=(\S+)/.exec(contentType)?.[1] ?? ''
  const parts = body.split(`--${boundary}`).slice(1, -1)
  return parts.map((part) => {
    const [line = '', ...lines] = part
      .slice(part.indexOf(LINE.repeat(2)))
      .trim()
      .split(LINE)
    const [method = '', url = ''] = line.split(' ')
    const headers = lines.map((header): [string, string] => {
      const at = header.indexOf(':')
      return [header.slice(0, at).toLowerCase(), header.slice(at + 1).trim()]
    })
    return { method, url, headers: Object.fromEntries(headers) }
  })
}

/** The response to a batch. */
export function batchAnswer(answers: readonly Answer[]): Answer {
  const parts = answers.map(({ status, headers = {} }, id) => {
    const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    const head = [`--${BOUNDARY}`, 'Content-Type: application/http', `Content-ID: ${id}`, '']
    return [...head, `HTTP/1.1 ${status} Answer`, ...own, '', ''].join(LINE)
  })
  const body = `${parts.join('')}--${BOUNDARY}--`
  return { status: 202, headers: { 'Content-Type': `multipart/mixed; boundary=${BOUNDARY}` }, body }
}
