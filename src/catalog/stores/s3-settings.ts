import { IcebergError } from '../../iceberg/errors.ts'
import type { AwsCredentials } from '../../iceberg/io/aws/credentials.ts'
import type { S3Settings } from '../../iceberg/io/aws/s3-client.ts'
import { type AssumedRole, awsCredentials } from '../../iceberg/io/aws/sources.ts'
import type { ReadProperty } from '../settings.ts'
import { addressAt, firstProperty, invalidProperty } from './store-properties.ts'

const EXAMPLE = { example: 'https://host:9000' }

/** An object store and its credentials, as properties. */
export const S3_KEYS = {
  endpoint: 's3.endpoint',
  pathStyle: 's3.path-style-access',
  region: ['s3.region', 'client.region'],
  accessKeyId: ['s3.access-key-id', 'client.access-key-id'],
  secretAccessKey: ['s3.secret-access-key', 'client.secret-access-key'],
  sessionToken: ['s3.session-token', 'client.session-token'],
  profile: 'client.profile-name',
} as const

/** The role to assume, as Iceberg's Java names it; the endpoint of the token service is a property of this service. */
const ROLE_KEYS = {
  arn: 'client.assume-role.arn',
  externalId: 'client.assume-role.external-id',
  sessionName: 'client.assume-role.session-name',
  region: 'client.assume-role.region',
  durationS: 'client.assume-role.timeout-sec',
  endpoint: 'client.assume-role.endpoint',
} as const

const SESSION_NAME = 'lockhouse'

/**
 * The object store that the properties `s3.…` and `client.…` describe. Throws `INVALID_ARGUMENT` naming an invalid property,
 * never its value.
 */
export function s3Settings(property: ReadProperty): S3Settings {
  const endpoint = addressAt(property, S3_KEYS.endpoint, EXAMPLE)
  const region = firstProperty(property, S3_KEYS.region)
  const profile = property(S3_KEYS.profile)
  const pathStyle = property(S3_KEYS.pathStyle)
  const keys = staticKeys(property)
  const role = assumedRole(property, region)
  return {
    pathStyle: pathStyle === undefined ? endpoint !== undefined : pathStyle === 'true',
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(profile === undefined ? {} : { profile }),
    credentials: awsCredentials({
      ...(keys === undefined ? {} : { keys }),
      ...(profile === undefined ? {} : { profile }),
      ...(role === undefined ? {} : { role }),
    }),
  }
}

/** Keys in the properties; undefined without any. Throws `INVALID_ARGUMENT` if one of two is missing. */
export function staticKeys(property: ReadProperty): AwsCredentials | undefined {
  const accessKeyId = firstProperty(property, S3_KEYS.accessKeyId)
  const secretAccessKey = firstProperty(property, S3_KEYS.secretAccessKey)
  const sessionToken = firstProperty(property, S3_KEYS.sessionToken)
  if (accessKeyId === undefined && secretAccessKey === undefined) return undefined
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    const message = 'extra_props: s3.access-key-id and s3.secret-access-key must be set together'
    throw new IcebergError('INVALID_ARGUMENT', message)
  }
  return { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) }
}

function assumedRole(property: ReadProperty, clientRegion: string | undefined): AssumedRole | undefined {
  const arn = property(ROLE_KEYS.arn)
  if (arn === undefined) return undefined
  if (!/^arn:[\w-]*:\w+:[^\s]{1,2000}$/.test(arn))
    throw invalidProperty(ROLE_KEYS.arn, 'must be arn:aws:iam::<account>:role/<name>')
  const externalId = property(ROLE_KEYS.externalId)
  const region = property(ROLE_KEYS.region) ?? clientRegion
  const duration = property(ROLE_KEYS.durationS)
  const endpoint = addressAt(property, ROLE_KEYS.endpoint, EXAMPLE)
  if (duration !== undefined && !/^[1-9]\d{2,5}$/.test(duration)) {
    throw invalidProperty(ROLE_KEYS.durationS, 'must be a number of seconds, 900 or more')
  }
  return {
    arn,
    sessionName: property(ROLE_KEYS.sessionName) ?? SESSION_NAME,
    ...(externalId === undefined ? {} : { externalId }),
    ...(region === undefined ? {} : { region }),
    ...(duration === undefined ? {} : { durationS: Number(duration) }),
    ...(endpoint === undefined ? {} : { endpoint }),
  }
}
