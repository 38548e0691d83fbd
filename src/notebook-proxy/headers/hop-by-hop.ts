const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/** Removes hop-by-hop headers (RFC 9110, section 7.6.1), including those that `Connection` names. */
export function dropHopByHop(headers: Headers): void {
  const named = headers.get('connection')?.split(',') ?? []
  for (const name of [...HOP_BY_HOP, ...named.map((one) => one.trim())]) {
    if (isToken(name)) headers.delete(name)
  }
}

/** Whether the text is a token: a valid header name or subprotocol (RFC 9110, section 5.6.2). */
export function isToken(text: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text)
}
