import { IcebergError } from '../../errors.ts'
import { fixedCredentials, renewedCredentials } from '../objects/credential-source.ts'
import type { AwsCredentials, AwsCredentialSource } from './credentials.ts'
import { withoutDetails } from './error-details.ts'

/** How to obtain the credentials of a client. Without `keys`, the SDK's default chain is asked. */
export interface AwsIdentity {
  readonly keys?: AwsCredentials
  /** A profile of the shared configuration files, for the default chain. */
  readonly profile?: string
  /** A role to assume with these credentials. */
  readonly role?: AssumedRole
}

/** A role that AWS STS, or a compatible service, issues temporary credentials for. */
export interface AssumedRole {
  readonly arn: string
  readonly externalId?: string
  readonly sessionName: string
  readonly region?: string
  /** Lifetime of the credentials, in seconds; default: that of the service, one hour. */
  readonly durationS?: number
  /** Address of a token service that is not Amazon's. */
  readonly endpoint?: string
}

/**
 * The credentials of an identity: its keys, or those of the SDK's default chain (environment, profile, web identity,
 * container, instance role), and of the role that they assume. Libraries are loaded, and requests sent, at first use.
 */
export function awsCredentials(identity: AwsIdentity): AwsCredentialSource {
  const base = identity.keys === undefined ? defaultChain(identity.profile) : fixedCredentials(identity.keys)
  return identity.role === undefined ? base : assumedRole(identity.role, base)
}

interface SdkIdentity {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
  readonly expiration?: Date | undefined
}

function defaultChain(profile: string | undefined): AwsCredentialSource {
  return renewedCredentials(async () => {
    try {
      const { fromNodeProviderChain } = await import('@aws-sdk/credential-providers')
      return fromSdk(await fromNodeProviderChain(profile === undefined ? {} : { profile })())
    } catch (error) {
      throw noCredentials(
        'there are no credentials; set s3.access-key-id and s3.secret-access-key, or the AWS environment variables, ' +
          'a profile, or a role of the machine',
        error,
      )
    }
  })
}

function assumedRole(role: AssumedRole, base: AwsCredentialSource): AwsCredentialSource {
  return renewedCredentials(async () => {
    const masterCredentials = await base.current()
    try {
      const { fromTemporaryCredentials } = await import('@aws-sdk/credential-providers')
      return fromSdk(await fromTemporaryCredentials({ params: paramsOf(role), masterCredentials, ...clientOf(role) })())
    } catch (error) {
      const advice = 'check client.assume-role.arn, external-id, the trust policy and the clock'
      throw noCredentials(`the role ${role.arn} could not be assumed (${nameOf(error)}); ${advice}`, error)
    }
  })
}

function paramsOf({ arn, sessionName, externalId, durationS }: AssumedRole) {
  return {
    RoleArn: arn,
    RoleSessionName: sessionName,
    ...(externalId === undefined ? {} : { ExternalId: externalId }),
    ...(durationS === undefined ? {} : { DurationSeconds: durationS }),
  }
}

function clientOf({ region, endpoint }: AssumedRole) {
  const clientConfig = { ...(region === undefined ? {} : { region }), ...(endpoint === undefined ? {} : { endpoint }) }
  return { clientConfig }
}

function fromSdk({ accessKeyId, secretAccessKey, sessionToken, expiration }: SdkIdentity): AwsCredentials {
  return {
    accessKeyId,
    secretAccessKey,
    ...(sessionToken === undefined ? {} : { sessionToken }),
    ...(expiration === undefined ? {} : { expiresAtMs: expiration.getTime() }),
  }
}

function noCredentials(why: string, cause: unknown): IcebergError {
  return new IcebergError('IO_FAILED', `Could not sign a request: ${why}.`, { cause: withoutDetails(cause) })
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'error'
}
