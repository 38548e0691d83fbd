/** A browser at the identity provider: it keeps cookies, follows redirects and submits the provider's forms. */
export interface ProviderVisit {
  /** Opens an address and follows redirects; returns the first address of another server, or the page. */
  open(address: string): Promise<{ readonly left?: string; readonly page?: string }>
  /** Submits the form of a page. */
  submit(page: string, fields: Readonly<Record<string, string>>): Promise<{ left?: string; page?: string }>
}

/** Starts with an empty cookie jar. */
export function visitProvider(issuer: string): ProviderVisit {
  const jar = new Map<string, string>()
  const request = async (
    address: string,
    init: Omit<RequestInit, 'headers'>,
  ): Promise<{ left?: string; page?: string }> => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(address, { ...init, redirect: 'manual', headers: { Cookie: cookie } })
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    const location = response.headers.get('location')
    if (location === null) return { page: await response.text() }
    await response.body?.cancel()
    const next = new URL(location, address)
    return next.origin === issuer ? request(next.href, {}) : { left: next.href }
  }
  return {
    open: (address) => request(address, {}),
    submit(page, fields) {
      const [, action = ''] = /action="([^"]+)"/.exec(page) ?? []
      const hidden = [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)]
      const all = { ...Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value])), ...fields }
      return request(new URL(action, issuer).href, { method: 'POST', body: new URLSearchParams(all) })
    },
  }
}
