import { describe, expect, it } from 'vitest'
import { readValues, redactor } from '../../../../src/services/catalogs/secret-texts.ts'

const KEY = 'c2VjcmV0LWtleS1vZi1hbi1hY2NvdW50'
const NAMED: readonly (readonly [string, string])[] = [
  ['credential', 'client-id:the client secret/+'],
  ['adls.connection-string', `AccountName=lake;AccountKey=${KEY};EndpointSuffix=core.windows.net`],
  ['adls.sas-token', 'sv=2024&sp=racwdl&sig=abc%2Fdef%3D'],
  ['password', 'pw1'],
  ['header.x-flag', 'true'],
  ['header.x-api', 'a-long-header-value'],
  ['token', ''],
]

describe('texts about a catalog', () => {
  const redact = redactor(NAMED)

  it.each([
    'the client secret/+',
    encodeURIComponent('the client secret/+'),
    Buffer.from('client-id:the client secret/+').toString('base64'),
    KEY,
    encodeURIComponent(KEY),
    'abc%2Fdef%3D',
    'pw1',
    'a-long-header-value',
  ])('do not contain %s', (secret) => {
    for (const text of [secret, `before ${secret} after`, `https://host/?x=${secret}&y=1`, `"${secret}${secret}"`]) {
      expect(redact(text)).not.toContain(secret)
      expect(redact(text)).toContain('***')
    }
  })

  it.each([
    ['Authorization: Bearer abc.def-ghi', 'Authorization: Bearer ***'],
    ['authorization: basic dXNlcjpwYXNz', 'authorization: basic ***'],
    ['postgres://me:secret@db/lake', 'postgres://me:***@db/lake'],
    [
      'https://s/x?X-Amz-Signature=0f1e&X-Amz-Security-Token=tt&a=1',
      'https://s/x?X-Amz-Signature=***&X-Amz-Security-Token=***&a=1',
    ],
  ])('hide what looks like a credential: %s', (text, shown) => {
    expect(redactor([])(text)).toBe(shown)
  })

  it('keep everything else, also words that are values of other properties', () => {
    const text = 'The table demo.events is true at s3://lake/warehouse/lockhouse-probe-0b5c.txt (status 403).'
    expect(redact(text)).toBe(text)
  })
})

describe('the values of settings', () => {
  it('are those of the variables, and leave out variables that must not be read', () => {
    const settings = { catalogType: 'rest', warehouse: 'w', catalogName: 'c', uri: null } as const
    const extraProps = { token: 'env:LAKE_T', other: 'env:PATH', plain: 'text', unset: 'env:LAKE_U' }
    const read = (name: string): string | undefined => {
      if (!name.startsWith('LAKE_')) throw new Error('not allowed')
      return name === 'LAKE_T' ? 'from the environment' : undefined
    }
    expect(readValues({ ...settings, extraProps }, read)).toEqual([
      ['token', 'from the environment'],
      ['plain', 'text'],
      ['unset', ''],
    ])
  })
})
