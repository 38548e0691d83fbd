import { isTrustworthyUrl } from '../../domain/network/trustworthy-url.ts'

const LIMIT_MS = 5000
const MAX_BYTES = 512 * 1024

/**
 * Fetches a JSON document of the token issuer: within 5 s, at most 512 KiB, no redirects, over https or from loopback.
 * Throws when one of these conditions is not met.
 */
export async function fetchJson(url: string): Promise<unknown> {
  if (!isTrustworthyUrl(url)) throw new Error('the address must be https, or http on loopback')
  const response = await fetch(url, {
    headers: { Accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(LIMIT_MS),
  })
  if (!response.ok || !response.body) {
    await response.body?.cancel()
    throw new Error(`the response has status ${response.status}`)
  }
  return JSON.parse(await readText(response.body))
}

/** The text of a body of at most 512 KiB. Throws when it is longer, or not UTF-8. */
export async function readText(body: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > MAX_BYTES) throw new Error(`the response has more than ${MAX_BYTES} bytes`)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
