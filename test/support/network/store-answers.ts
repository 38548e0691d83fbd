import type { ServerResponse } from 'node:http'

/** What a store may do to a request instead of answering it well. */
export type StoreFault =
  /** As behind a proxy that repeats the request: the client gets the answer to the second one. */
  | 'twice'
  /** Closes the connection before the request is carried out, or after it was. */
  | 'cut-before'
  | 'cut-after'
  /** Says that it failed, before or after the request was carried out. */
  | 'fail-before'
  | 'fail-after'
  /** Sends the head and half of the body. */
  | 'cut-body'
  | 'deny'
  | 'full'

/** The response of a fake store. */
export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | string
}

/** Sends an answer, or half of its body. */
export function send(
  response: ServerResponse,
  { status, headers = {}, body = '' }: Answer,
  { isHead, isCut }: { readonly isHead: boolean; readonly isCut: boolean },
): void {
  const bytes = Buffer.from(body)
  response.writeHead(status, { ...headers, ...(status === 204 ? {} : { 'Content-Length': String(bytes.length) }) })
  if (isHead || status === 204) response.end()
  else if (isCut) response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy())
  else response.end(bytes)
}

/** Text of an XML element as its reader sees it. */
export function unescapeXml(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}

/** Text as it is written into an XML element. */
export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

/** Faults that pass when a request is sent again. */
const PASSING: readonly StoreFault[] = ['cut-before', 'cut-after', 'fail-before', 'fail-after', 'cut-body']

/** How often one request fails at most while {@link OTHERS} like it arrive: less than every client repeats it. */
const MAX_FAILURES = 2
/** More than several clients send of one request while one of them repeats it. */
const OTHERS = 60

/** The faults of a store where about one in so many requests fails, in every way in turn. */
export function stormyFaults(
  oneIn: number,
): (request: { readonly method: string; readonly key: string }) => StoreFault | undefined {
  /** For each request, how many of it came before each of its last failures. */
  const failures = new Map<string, readonly number[]>()
  const seen = new Map<string, number>()
  let count = 0
  return ({ method, key }) => {
    count += 1
    const request = `${method} ${key}`
    const at = (seen.get(request) ?? 0) + 1
    seen.set(request, at)
    const recent = (failures.get(request) ?? []).filter((failure) => at - failure < OTHERS)
    if (count % oneIn !== 0 || recent.length >= MAX_FAILURES) return undefined
    failures.set(request, [...recent, at])
    return PASSING[(count / oneIn) % PASSING.length]
  }
}
