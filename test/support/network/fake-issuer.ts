import { createServer, type ServerResponse } from 'node:http'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

/** How the server answers when it is asked for its keys. */
export type Mood = 'well' | 'down' | 'slow' | 'huge' | 'html' | 'error' | 'garbage' | 'redirect'

export interface IssuerKey {
  readonly kid: string
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly publicJwk: JWK
}

/** An OpenID Connect provider over a real socket, which can misbehave on command. */
export interface FakeIssuer {
  readonly url: string
  /** How often its keys were asked for. */
  readonly keyRequests: () => number
  mood: Mood
  /** The keys that it publishes, newest last. */
  keys: readonly IssuerKey[]
  /** Makes a key; publishing it is up to the test. */
  newKey(kid: string, alg?: string): Promise<IssuerKey>
  /** A token as the provider makes them, signed with its newest key unless told otherwise. */
  token(claims?: Claims, options?: TokenOptions): Promise<string>
  close(): Promise<void>
}

/** Claims of a token; undefined takes one of the usual ones away. */
export type Claims = Readonly<Record<string, unknown>>

export interface TokenOptions {
  readonly key?: IssuerKey
  readonly header?: Readonly<Record<string, unknown>>
}

export const AUDIENCE = 'lockhouse-tests'

/** Starts a provider with one RS256 key. */
export async function startFakeIssuer(): Promise<FakeIssuer> {
  let keyRequests = 0
  const server = createServer((request, response) => {
    if (request.url === '/.well-known/openid-configuration') {
      sendJson(response, { issuer: issuer.url, jwks_uri: `${issuer.url}/keys` })
    } else if (request.url === '/keys') {
      keyRequests += 1
      answerKeys(issuer, response)
    } else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const issuer: FakeIssuer = {
    url: `http://127.0.0.1:${port}`,
    keyRequests: () => keyRequests,
    mood: 'well',
    keys: [],
    newKey,
    async token(claims = {}, { key = issuer.keys.at(-1), header = {} } = {}) {
      if (!key) throw new Error('the issuer has no key')
      const now = Math.floor(Date.now() / 1000)
      const common = { iss: issuer.url, aud: AUDIENCE, sub: 'ada', role: 'DataEngineer', iat: now, exp: now + 300 }
      const payload = Object.fromEntries(Object.entries({ ...common, ...claims }).filter(([, v]) => v !== undefined))
      return new SignJWT(payload).setProtectedHeader({ alg: key.alg, kid: key.kid, ...header }).sign(key.privateKey)
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  issuer.keys = [await newKey('key-1')]
  return issuer
}

async function newKey(kid: string, alg = 'RS256'): Promise<IssuerKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

function answerKeys({ mood, keys }: FakeIssuer, response: ServerResponse): void {
  switch (mood) {
    case 'down':
      response.destroy()
      break
    case 'slow': // never ends
      response.writeHead(200, { 'Content-Type': 'application/json' }).write('{"keys":[')
      break
    case 'huge':
      response.writeHead(200, { 'Content-Type': 'application/json' })
      sendForever(response)
      break
    case 'html':
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html><body>Sign in</body></html>')
      break
    case 'error':
      response.writeHead(500).end()
      break
    case 'garbage':
      sendJson(response, { keys: [null, 1, 'x'] })
      break
    case 'redirect':
      response.writeHead(302, { Location: '/elsewhere' }).end()
      break
    default:
      sendJson(response, { keys: keys.map(({ publicJwk }) => publicJwk) })
  }
}

function sendForever(response: ServerResponse): void {
  const chunk = ' '.repeat(64 * 1024)
  const send = (): void => {
    while (!response.destroyed && response.write(chunk));
  }
  response.on('drain', send)
  send()
}

function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
}
