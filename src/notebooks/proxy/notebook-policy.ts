/** Where documents of notebooks stand: under the service's own origin, or each user's under one of its own. */
export type Isolation = 'path' | 'host'

export interface PolicyPlace {
  readonly isolation: Isolation
  /** The host that the client asked for; checked to be one. */
  readonly host: string
  /** The user's base path. */
  readonly prefix: string
}

/**
 * The Content-Security-Policy that is added to whatever a notebook sends; where both have one, both hold.
 *
 * In path mode its documents have the service's own origin, and with it the user's cookie: they may connect and post to
 * their own notebook only, and no page shows them in a frame. Paths of sources are not looked at after a redirect
 * (CSP3, section 6.7.2.12), which is why {@link publicLocation} lets none lead out. In host mode there is nothing to
 * reach under the origin but the notebook.
 */
export function notebookPolicy({ isolation, host, prefix }: PolicyPlace): string {
  if (isolation === 'host') return "frame-ancestors 'self'"
  const pages = `http://${host}${prefix}` // stands for https too, and ws for wss (CSP3, section 6.7.2.8)
  return [
    "frame-ancestors 'none'",
    `connect-src ${pages} ws://${host}${prefix} data: blob:`,
    `form-action ${pages}`,
    `worker-src ${pages} blob:`,
    "base-uri 'self'",
  ].join('; ')
}
