import type { Context } from 'hono'
import { DomainError } from '../../domain/errors.ts'
import type { AppEnv } from '../../middleware/app-env.ts'
import { HttpError } from '../../middleware/http-error.ts'
import type { IdentityService } from '../../services/identity/identity-service.ts'

const FORM = /^application\/x-www-form-urlencoded *(;|$)/i

/**
 * The token endpoint (RFC 6749, section 4.4): the client secret is a token of this service, and is the access token as
 * well, so that it is valid exactly as long as it is not revoked. The client id, if any, is the user of the token.
 */
export async function issueToken(
  c: Context<AppEnv>,
  { identity, mode }: { readonly identity: IdentityService; readonly mode: 'token' | 'off' },
): Promise<Response> {
  if (!FORM.test(c.req.header('content-type') ?? '')) {
    throw new HttpError('UNSUPPORTED_MEDIA_TYPE', 'the body must be application/x-www-form-urlencoded')
  }
  const form = new URLSearchParams(new TextDecoder().decode(await c.env.readBody()))
  if (form.get('grant_type') !== 'client_credentials') {
    return refusal(400, 'unsupported_grant_type', 'only client_credentials is supported')
  }
  const { id, secret } = clientOf(c, form)
  if (secret === '') return refusal(401, 'invalid_client', 'the client secret is missing')
  if (mode === 'token' && !(await isClient(identity, { id, secret }, c.env.clientAddress))) {
    return refusal(401, 'invalid_client', 'the secret is not a valid token of this client')
  }
  return noStore(200, {
    access_token: secret,
    token_type: 'bearer',
    issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  })
}

async function isClient(identity: IdentityService, { id, secret }: Client, address: string | undefined) {
  try {
    const { user } = await identity.checkToken({ token: secret, address })
    return id === '' || id === user
  } catch (error) {
    if (error instanceof DomainError && error.code === 'UNAUTHENTICATED') return false
    throw error
  }
}

interface Client {
  readonly id: string
  readonly secret: string
}

/** From the `Authorization` header (RFC 6749, section 2.3.1) or the body. */
function clientOf(c: Context<AppEnv>, form: URLSearchParams): Client {
  const basic = /^Basic +(\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1]
  if (basic === undefined) return { id: form.get('client_id') ?? '', secret: form.get('client_secret') ?? '' }
  const [id = '', secret = ''] = decodeBase64(basic).split(':')
  return { id: decodeForm(id), secret: decodeForm(secret) }
}

function decodeBase64(text: string): string {
  try {
    return atob(text)
  } catch {
    return ''
  }
}

function decodeForm(text: string): string {
  return new URLSearchParams(`v=${text}`).get('v') ?? ''
}

function refusal(status: 400 | 401, error: string, description: string): Response {
  return noStore(status, { error, error_description: description })
}

function noStore(status: number, body: Readonly<Record<string, string>>): Response {
  return Response.json(body, { status, headers: { 'Cache-Control': 'no-store' } })
}
