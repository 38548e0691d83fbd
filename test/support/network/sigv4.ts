import { createHash, createHmac, randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** Keys that a fake service accepts. */
export interface AwsAccount {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  readonly expiresAtMs?: number
  /** `bucket/key` beginnings that they may access; undefined: all. */
  readonly prefixes?: readonly string[]
}

/** The keys of a fake cloud: of users, and temporary ones that were issued. */
export class AwsAccounts {
  readonly #byKey = new Map<string, AwsAccount>()
  readonly issued: AwsAccount[] = []

  add(account: AwsAccount): void {
    this.#byKey.set(account.accessKeyId, account)
  }

  /** Temporary credentials, which expire after `lifeMs`. */
  issue({ lifeMs, prefixes }: { readonly lifeMs: number; readonly prefixes?: readonly string[] }): AwsAccount {
    const account = {
      accessKeyId: `ASIA${this.issued.length}X${randomUUID().slice(0, 8)}`,
      secretAccessKey: `temporary-secret-${randomUUID()}`,
      sessionToken: `temporary-token-${randomUUID()}`,
      expiresAtMs: Date.now() + lifeMs,
      ...(prefixes === undefined ? {} : { prefixes }),
    }
    this.issued.push(account)
    this.add(account)
    return account
  }

  revoke({ accessKeyId }: AwsAccount): void {
    this.#byKey.delete(accessKeyId)
  }

  find(accessKeyId: string): AwsAccount | undefined {
    return this.#byKey.get(accessKeyId)
  }
}

export interface SignedRequest {
  readonly method: string
  /** Path and query, as sent. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface SignatureRule {
  readonly accounts: AwsAccounts
  readonly service: string
  /** Undefined: any region. */
  readonly region?: string | undefined
  /** The time of the service, ms. */
  readonly nowMs: number
}

/** Why a request is refused, with AWS's names. */
export interface SignatureRefusal {
  readonly code: string
  readonly details?: Readonly<Record<string, string>>
}

const MAX_SKEW_MS = 15 * 60_000

/**
 * Checks a request as AWS documents it ("Signature Version 4 signing process": canonical request, string to sign, derived key),
 * without an SDK. Returns the account, or why the request is refused.
 */
export function checkSignature(request: SignedRequest, rule: SignatureRule): AwsAccount | SignatureRefusal {
  const { headers } = request
  const authorization =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/
  const match = authorization.exec(headers.authorization ?? '')
  if (match === null) return { code: 'AccessDenied' }
  const [, key = '', day = '', region = '', service = '', signedHeaders = '', signature] = match
  if (service !== rule.service) return { code: 'AuthorizationHeaderMalformed' }
  if (rule.region !== undefined && region !== rule.region) {
    return { code: 'AuthorizationHeaderMalformed', details: { Region: rule.region } }
  }
  const account = rule.accounts.find(key)
  if (account === undefined) return { code: 'InvalidAccessKeyId', details: { AWSAccessKeyId: key } }
  const time = one(headers['x-amz-date'])
  const refusal = checkToken(headers, account, rule.nowMs) ?? checkTime(time, rule.nowMs)
  if (refusal !== undefined) return refusal
  const names = signedHeaders.split(';')
  const needed = Object.keys(headers).filter((name) => name === 'host' || name.startsWith('x-amz-'))
  if (!time.startsWith(day) || needed.some((name) => !names.includes(name))) return { code: 'AccessDenied' }
  const canonical = canonicalRequest(request, { names, isS3: service === 's3' })
  if (canonical === undefined) return { code: 'XAmzContentSHA256Mismatch' }
  const scope = `${day}/${region}/${service}/aws4_request`
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n')
  const derived = [day, region, service, 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${account.secretAccessKey}`)
  if (hmac(derived, toSign).toString('hex') === signature) return account
  return { code: 'SignatureDoesNotMatch', details: { CanonicalRequest: canonical } }
}

function checkToken(headers: IncomingHttpHeaders, account: AwsAccount, nowMs: number): SignatureRefusal | undefined {
  const token = one(headers['x-amz-security-token'])
  if (token !== (account.sessionToken ?? '')) return { code: 'InvalidToken', details: { 'Token-0': token } }
  if (account.expiresAtMs === undefined || nowMs < account.expiresAtMs) return undefined
  return { code: 'ExpiredToken', details: { 'Token-0': token } }
}

function checkTime(time: string, nowMs: number): SignatureRefusal | undefined {
  const iso = time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z')
  if (Math.abs(Date.parse(iso) - nowMs) < MAX_SKEW_MS) return undefined
  return { code: 'RequestTimeTooSkewed', details: { ServerTime: new Date(nowMs).toISOString() } }
}

/** Undefined if the body is not the one that was signed. */
function canonicalRequest(
  { method, url, headers, body }: SignedRequest,
  { names, isS3 }: { readonly names: readonly string[]; readonly isS3: boolean },
): string | undefined {
  const [path = '', query = ''] = url.split('?')
  const given = headers['x-amz-content-sha256']
  const hash = sha256(body)
  if (given !== undefined && given !== hash && given !== 'UNSIGNED-PAYLOAD') return undefined
  const uri = (isS3 ? decodeURIComponent(path) : path).split('/').map(encode).join('/')
  const pairs = query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => pair.split('=').map((part) => encode(decodeURIComponent(part))))
    .map(([name = '', value = '']) => `${name}=${value}`)
    .sort()
  const lines = names.map((name) => `${name}:${one(headers[name]).trim().replace(/ +/g, ' ')}\n`)
  return [method, uri, pairs.join('&'), lines.join(''), names.join(';'), given ?? hash].join('\n')
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

function one(value: string | string[] | undefined): string {
  return Array.isArray(value) ? value.join(',') : (value ?? '')
}

function sha256(text: string | Buffer): string {
  return createHash('sha256').update(text).digest('hex')
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
