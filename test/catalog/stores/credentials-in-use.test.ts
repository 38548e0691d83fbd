import { describe, expect, it } from 'vitest'
import { credentialsInUse } from '../../../src/catalog/stores/credentials-in-use.ts'

describe('the credentials for a location', () => {
  const inUse = (location: string, properties: Readonly<Record<string, string>>) =>
    credentialsInUse(location, (name) => properties[name])

  it('are none for files of this machine', async () => {
    expect(await inUse('file:///lake/t', {})).toBeUndefined()
  })

  it('are named with their expiry, and without their value', async () => {
    const token = { 'gcs.oauth2.token': 'ya29.secret', 'gcs.oauth2.token-expires-at': '4100000000000' }
    expect(await inUse('gs://lake/t', token)).toEqual({ source: 'a bearer token', expiresAtMs: 4_100_000_000_000 })
    const keys = { 's3.access-key-id': 'AKIAEXAMPLE', 's3.secret-access-key': 'a secret' }
    expect(await inUse('s3://lake/t', keys)).toEqual({ source: 'static keys of s3.access-key-id' })
  })

  it('are not needed where the settings say so', async () => {
    expect(await inUse('gs://lake/t', { 'gcs.no-auth': 'true' })).toEqual({ source: 'no credentials' })
  })
})
