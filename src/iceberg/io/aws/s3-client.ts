import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import type { AwsCredentials, AwsCredentialSource } from './credentials.ts'

/** How to reach an object store; a missing region is resolved as the AWS tools do (environment, files). */
export interface S3Settings {
  /** `http(s)` address of a store that is not Amazon's. */
  readonly endpoint?: string
  readonly region?: string
  /** A profile of the shared configuration files, for the region. */
  readonly profile?: string
  readonly credentials: AwsCredentialSource
  /** Bucket in the path instead of the host name. */
  readonly pathStyle: boolean
}

const CONNECT_MS = 5000
const SILENCE_MS = 60_000

/** Connections are shared by all clients: each table may have a client with credentials of its own. */
let shared: S3ClientConfig['requestHandler']

/** A client that sends each request once and signs it with the source's current credentials. */
export function createS3Client(settings: S3Settings): S3Client {
  const { endpoint, region, profile, credentials, pathStyle } = settings
  const client = new S3Client({
    ...(endpoint === undefined ? {} : { endpoint }),
    // stores other than Amazon's need a region name but ignore it
    ...(region === undefined ? (endpoint === undefined ? {} : { region: 'us-east-1' }) : { region }),
    ...(profile === undefined ? {} : { profile }),
    credentials: asProvider(credentials),
    forcePathStyle: pathStyle,
    maxAttempts: 1, // the caller decides what is sent again
    disableClockSkewCorrection: true, // a wrong clock would also write wrong times into tables
    requestHandler: shared ?? {
      connectionTimeout: CONNECT_MS,
      requestTimeout: SILENCE_MS,
      throwOnRequestTimeout: true,
    },
  })
  shared ??= client.config.requestHandler
  return client
}

/** The SDK would keep credentials without an expiry forever: the source decides instead. */
function asProvider(source: AwsCredentialSource) {
  const provide = async () => sdkIdentity(await source.current())
  return Object.assign(provide, { memoized: true })
}

function sdkIdentity({ accessKeyId, secretAccessKey, sessionToken }: AwsCredentials) {
  return { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) }
}
