import type { CustomFetch } from 'openid-client'
import { isTrustworthyUrl } from '../../../domain/network/trustworthy-url.ts'
import { readText } from '../../outbound/fetch-json.ts'

const LIMIT_MS = 5000

/** `fetch` for an identity provider: within 5 s, at most 512 KiB, no redirects, over https or from loopback. */
export const limitedFetch: CustomFetch = async (url, { method, headers, body }) => {
  if (!isTrustworthyUrl(url)) throw new Error('the address must be https, or http on loopback')
  const signal = AbortSignal.timeout(LIMIT_MS)
  const response = await fetch(url, { method, headers, body: body ?? null, redirect: 'manual', signal })
  const { status } = response
  const text = response.body === null ? '' : await readText(response.body)
  return new Response(status === 204 || status === 304 ? null : text, { status, headers: response.headers })
}
