import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import type { AwsCredentialSource } from '../../iceberg/io/aws/credentials.ts'
import { fixedCredentials } from '../../iceberg/io/objects/credential-source.ts'
import { signRequest, type SigningScope, type UnsignedRequest } from '../../iceberg/io/aws/sign-request.ts'
import type { ReadProperty } from '../settings.ts'
import { s3Settings } from '../stores/s3-settings.ts'
import { NotSentError } from './errors.ts'
import type { RestAnswer } from './exchange.ts'

/** How requests to a catalog are signed with AWS Signature Version 4. */
export interface RestSigning extends SigningScope {
  readonly credentials: AwsCredentialSource
}

const DEFAULT_SERVICE = 'execute-api'

/**
 * The signing of a catalog with `rest.sigv4-enabled`, undefined without it. Keys are `rest.access-key-id` and
 * `rest.secret-access-key`, or those of the object store, the AWS default chain or an assumed role.
 */
export function restSigning(property: ReadProperty): RestSigning | undefined {
  if (property('rest.sigv4-enabled') !== 'true') return undefined
  const region = property('rest.signing-region') ?? property('client.region')
  if (region === undefined) {
    throw new IcebergError('INVALID_ARGUMENT', 'extra_props.rest.signing-region must be set for rest.sigv4-enabled')
  }
  return {
    service: property('rest.signing-name') ?? DEFAULT_SERVICE,
    region,
    credentials: ownKeys(property) ?? s3Settings(property).credentials,
  }
}

function ownKeys(property: ReadProperty): AwsCredentialSource | undefined {
  const accessKeyId = property('rest.access-key-id')
  const secretAccessKey = property('rest.secret-access-key')
  const sessionToken = property('rest.session-token')
  if (accessKeyId === undefined && secretAccessKey === undefined) return undefined
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    const message = 'extra_props: rest.access-key-id and rest.secret-access-key must be set together'
    throw new IcebergError('INVALID_ARGUMENT', message)
  }
  return fixedCredentials({ accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) })
}

/**
 * Signs each attempt of a request, and once more with other credentials if the server refuses these as expired or unknown.
 * A bearer token moves to `Original-Authorization`, as in Iceberg's Java. Throws `NotSentError` without credentials.
 */
export async function sendSigned(
  { credentials, ...scope }: RestSigning,
  request: UnsignedRequest,
  send: (headers: Readonly<Record<string, string>>) => Promise<RestAnswer>,
): Promise<RestAnswer> {
  const { Authorization: bearer, ...others } = request.headers
  const headers = bearer === undefined ? others : { ...others, 'Original-Authorization': bearer }
  for (let attempt = 1; ; attempt++) {
    const keys = await beforeSending(credentials.current())
    const answer = await send(await signRequest({ ...request, headers }, scope, keys))
    if (attempt > 1 || !refusesKeys(answer) || !(await beforeSending(credentials.replace(keys)))) return answer
  }
}

async function beforeSending<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (cause) {
    if (isIcebergError(cause)) throw new NotSentError(cause.message, { cause })
    throw cause
  }
}

const REFUSED_KEYS = /ExpiredToken|UnrecognizedClient|InvalidClientTokenId|InvalidAccessKeyId|security token/i

/** True if a server refused the credentials of a signature, so that it certainly changed nothing. */
function refusesKeys({ status, headers, bytes }: RestAnswer): boolean {
  if (status !== 400 && status !== 401 && status !== 403) return false
  return REFUSED_KEYS.test(headers.get('x-amzn-errortype') ?? '') || REFUSED_KEYS.test(Buffer.from(bytes).toString())
}

const MAX_SKEW_MS = 4 * 60_000

/** Advice for a signed request that was refused; names the difference of the clocks if it may be the reason. */
export function signingAdvice({ headers }: RestAnswer): string {
  const aheadMs = Date.now() - Date.parse(headers.get('date') ?? '')
  if (Math.abs(aheadMs) > MAX_SKEW_MS) {
    const minutes = Math.round(Math.abs(aheadMs) / 60_000)
    const direction = aheadMs > 0 ? 'ahead of' : 'behind'
    return ` The clock of this machine is ${minutes} minutes ${direction} the catalog's: correct it.`
  }
  return ' Check rest.signing-name, rest.signing-region, the credentials and their permissions.'
}
