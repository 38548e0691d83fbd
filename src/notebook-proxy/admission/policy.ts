/** Which origin serves notebook documents: `path`, the service's own; `host`, a separate one per user. */
export type Isolation = 'path' | 'host'

export interface PolicyInput {
  readonly isolation: Isolation
  /** From the `Host` header; validated. */
  readonly host: string
  /** The notebook's path on that host. */
  readonly prefix: string
}

/**
 * The Content-Security-Policy added to every notebook response; a policy of the notebook's own applies as well.
 *
 * In path mode notebook documents have the service's origin, and with it the user's cookie: they may connect and post to
 * their own notebook only, and cannot be framed. They may not load any address of the origin in a frame either: an
 * answer without headers, such as a bare 431, would be a document of the origin without a policy. CSP does not check
 * source paths after a redirect (CSP3, section 6.7.2.12), which is why {@link publicLocation} refuses redirects out of the
 * notebook. In host mode the origin serves nothing but the notebook.
 */
export function notebookPolicy({ isolation, host, prefix }: PolicyInput): string {
  if (isolation === 'host') return "frame-ancestors 'self'"
  const pages = `http://${host}${prefix}` // also matches https, and ws matches wss (CSP3, section 6.7.2.8)
  return [
    "frame-ancestors 'none'",
    `connect-src ${pages} ws://${host}${prefix} data: blob:`,
    `form-action ${pages}`,
    `worker-src ${pages} blob:`,
    'frame-src blob: data:',
    'object-src blob: data:',
    "base-uri 'self'",
  ].join('; ')
}

/** Directives that send requests with the visitor's session (CSP3, section 6.5). */
const REPORTING_DIRECTIVE = /^report-(uri|to)(\s|$)/i

/** The notebook's own policies, without directives that send reports; undefined when nothing is left. */
export function withoutReports(policies: string): string | undefined {
  const kept = policies.split(',').map((policy) =>
    policy
      .split(';')
      .map((directive) => directive.trim())
      .filter((directive) => directive !== '' && !REPORTING_DIRECTIVE.test(directive))
      .join('; '),
  )
  const text = kept.filter((policy) => policy !== '').join(', ')
  return text === '' ? undefined : text
}
