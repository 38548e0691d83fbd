import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { type Configuration, Provider } from 'oidc-provider'

/** How the provider answers. */
export type ProviderMood = 'well' | 'down' | 'slow' | 'error'

/** A person at the provider. */
export interface Person {
  readonly groups?: unknown
}

/** The addresses of the service that the provider knows. */
export interface ProviderClient {
  /** Address of the service, with its base path. */
  readonly service: string
  /** Where the provider reports logouts; default: nowhere. */
  readonly logoutUri?: string
}

/** The real `oidc-provider` over a loopback socket, which can misbehave on command. */
export interface OidcProvider {
  readonly issuer: string
  /** People by login name. */
  readonly people: Map<string, Person>
  /** Who signs in next; undefined: the user refuses. */
  login: string | undefined
  /** Answers of the endpoints whose path matches. */
  mood: { readonly path: RegExp; readonly mood: ProviderMood } | undefined
  /** Changes an ID token before it is sent. */
  tamper: ((idToken: string) => Promise<string>) | undefined
  /** Paths that were asked for, in order. */
  readonly requests: string[]
  /** Environment of a service that signs in here. */
  readonly env: Readonly<Record<string, string>>
  register(client: ProviderClient): void
  /** Replaces the keys; what the old ones signed is not valid any more. */
  rotateKeys(): Promise<void>
  privateJwk(): JWK
  /** Removes what the provider remembers of a person's refresh tokens. */
  revokeGrants(): Promise<void>
  close(): Promise<void>
}

const CLIENT_ID = 'lockhouse'
const CLIENT_SECRET = 'a-secret-of-the-client-for-tests'
let keyCount = 0

/** Starts a provider whose access tokens are valid for `lifetimeS`. */
export async function startOidcProvider({ lifetimeS = 300 } = {}): Promise<OidcProvider> {
  let jwk = await newKey()
  let client: ProviderClient = { service: 'http://localhost' }
  let provider: Provider | undefined
  const grants = new Set<string>()
  const server = createServer((request, response) => void handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const issuer = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split('?')[0] ?? ''
    known.requests.push(path)
    if (known.mood?.path.test(path) && misbehave(known.mood.mood, response)) return
    provider ??= create()
    if (path.startsWith('/interaction/')) return finishInteraction(provider, { request, response, login: known.login })
    if (path === '/token' && known.tamper !== undefined) tamperWith(response, known.tamper)
    await provider.callback()(request, response)
  }

  function create(): Provider {
    const made = new Provider(issuer, configuration({ jwk, client, lifetimeS, people: known.people }))
    made.on('grant.success', (ctx) => {
      const grantId = ctx.oidc.entities.Grant?.jti
      if (grantId !== undefined) grants.add(grantId)
    })
    return made
  }

  const known: OidcProvider = {
    issuer,
    people: new Map([['ada', { groups: ['lake-admins', 'everyone'] }]]),
    login: 'ada',
    mood: undefined,
    tamper: undefined,
    requests: [],
    env: {
      AUTH_OIDC_ISSUER: issuer,
      AUTH_OIDC_CLIENT_ID: CLIENT_ID,
      AUTH_OIDC_CLIENT_SECRET: CLIENT_SECRET,
      AUTH_GROUP_ROLES: 'lake-admins:LeadDataEngineer,analysts:Auditor',
    },
    register(registered) {
      client = registered
      provider = undefined
    },
    async rotateKeys() {
      jwk = await newKey()
      provider = undefined
    },
    privateJwk: () => jwk,
    async revokeGrants() {
      for (const id of grants) await (await provider?.Grant.find(id))?.destroy()
      grants.clear()
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return known
}

async function newKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  keyCount += 1
  return { ...(await exportJWK(privateKey)), kid: `key-${keyCount}`, alg: 'RS256', use: 'sig' }
}

function misbehave(mood: ProviderMood, response: ServerResponse): boolean {
  if (mood === 'down') response.destroy()
  else if (mood === 'error') response.writeHead(500, { 'Content-Type': 'text/html' }).end('<h1>Internal error</h1>')
  else if (mood === 'slow') response.writeHead(200, { 'Content-Type': 'application/json' }).write('{')
  return mood !== 'well'
}

function tamperWith(response: ServerResponse, tamper: (idToken: string) => Promise<string>): void {
  const end = response.end.bind(response)
  Object.assign(response, {
    end: (chunk: string | Uint8Array) => {
      void (async () => {
        const answer = JSON.parse(Buffer.from(chunk).toString())
        if (typeof answer.id_token === 'string') answer.id_token = await tamper(answer.id_token)
        const text = JSON.stringify(answer)
        response.setHeader('Content-Length', Buffer.byteLength(text))
        end(text)
      })()
      return response
    },
  })
}

interface Interaction {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly login: string | undefined
}

function finishInteraction(provider: Provider, { request, response, login }: Interaction): Promise<void> {
  const denied = { error: 'access_denied', error_description: 'the user refused' }
  const result = login === undefined ? denied : { login: { accountId: login } }
  return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
}

interface Parts {
  readonly jwk: JWK
  readonly client: ProviderClient
  readonly lifetimeS: number
  readonly people: ReadonlyMap<string, Person>
}

function configuration({ jwk, client, lifetimeS, people }: Parts): Configuration {
  return {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: [`${client.service}/api/auth/callback`],
        grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
        ...(client.logoutUri === undefined ? {} : { backchannel_logout_uri: client.logoutUri }),
        backchannel_logout_session_required: true,
      },
    ],
    jwks: { keys: [jwk] },
    cookies: { keys: ['a key for the cookies of tests'] },
    features: {
      devInteractions: { enabled: false },
      deviceFlow: { enabled: true },
      backchannelLogout: { enabled: true },
      revocation: { enabled: true },
    },
    // only in the user information, as with most providers
    claims: { openid: ['sub', 'sid'], profile: ['groups'] },
    ttl: { AccessToken: lifetimeS, IdToken: 86_400, RefreshToken: 3600, Session: 3600, Interaction: 600, Grant: 3600 },
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_, sub) => {
      const person = people.get(sub)
      return person && { accountId: sub, claims: async () => ({ sub, ...person }) }
    },
    loadExistingGrant: async ({ oidc }) => {
      const { provider, client: asking, session } = oidc
      const grant = new provider.Grant({ clientId: asking?.clientId ?? '', accountId: session?.accountId ?? '' })
      grant.addOIDCScope('openid profile')
      await grant.save()
      return grant
    },
  }
}
