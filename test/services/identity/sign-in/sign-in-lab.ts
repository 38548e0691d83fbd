import { type OidcProvider, startOidcProvider } from '../../../support/network/oidc-provider.ts'
import { type ProviderVisit, visitProvider } from '../../../support/network/provider-visit.ts'
import { type Answer, startTestService, type TestService, type TestServiceOptions } from '../../../support/service.ts'

/** A service and the provider that its users sign in at. */
export interface SignInLab {
  readonly provider: OidcProvider
  readonly service: TestService
  /** What the service wrote to its log. */
  readonly log: string[]
  /** Moves the clock of the service, not that of the provider. */
  clockMs: number
  close(): Promise<void>
}

export interface SignInLabOptions {
  readonly lifetimeS?: number
  readonly env?: Readonly<Record<string, string>>
  readonly overrides?: TestServiceOptions['overrides']
}

/** Starts both. */
export async function startSignInLab({ lifetimeS, env, overrides }: SignInLabOptions = {}): Promise<SignInLab> {
  const provider = await startOidcProvider(lifetimeS === undefined ? {} : { lifetimeS })
  const log: string[] = []
  let offsetMs = 0
  const service = await startTestService({
    env: { ...provider.env, LOG_LEVEL: 'debug', ...env },
    onLog: (line) => log.push(line),
    overrides: { now: () => new Date(Date.now() + offsetMs), ...overrides },
  })
  return {
    provider,
    service,
    log,
    get clockMs() {
      return offsetMs
    },
    set clockMs(ms) {
      offsetMs = ms
    },
    async close() {
      await service.close()
      await provider.close()
    },
  }
}

/** A sign-in that waits at the callback. */
export interface AtCallback {
  /** The path and query that the provider sent the browser to. */
  readonly callback: string
  /** The cookie that ties the sign-in to the browser. */
  readonly cookie: string
  readonly visit: ProviderVisit
}

/** Begins a sign-in and goes to the provider. */
export async function goToProvider({ service, provider }: SignInLab, returnTo?: string): Promise<AtCallback> {
  const query = returnTo === undefined ? '' : `?${new URLSearchParams({ return_to: returnTo }).toString()}`
  const begun = await service.get(`/api/auth/login${query}`, { token: null })
  if (begun.status !== 303) throw new Error(`the sign-in did not begin: ${JSON.stringify(begun.body)}`)
  const visit = visitProvider(provider.issuer)
  const { left, page } = await visit.open(begun.headers.get('location') ?? '')
  if (left === undefined) throw new Error(`the provider shows a page: ${page}`)
  const { pathname, search } = new URL(left)
  return { callback: pathname + search, cookie: cookieOf(begun), visit }
}

/** The name and value of the cookie that an answer sets. */
export function cookieOf({ headers }: Answer): string {
  return headers.get('set-cookie')?.split(';')[0] ?? ''
}

/** Comes back from the provider. */
export function comeBack({ service }: SignInLab, { callback, cookie }: Omit<AtCallback, 'visit'>): Promise<Answer> {
  return service.get(callback, { token: null, headers: { Cookie: cookie } })
}

/** A whole sign-in; returns the cookie of the session. */
export async function signIn(lab: SignInLab, returnTo?: string): Promise<Answer & { readonly cookie: string }> {
  const answer = await comeBack(lab, await goToProvider(lab, returnTo))
  return { ...answer, cookie: cookieOf(answer) }
}

/** The user of a session's cookie. */
export function me({ service }: SignInLab, cookie: string): Promise<Answer> {
  return service.get('/api/auth/me', { token: null, headers: { Cookie: cookie } })
}
