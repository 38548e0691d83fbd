import { describe, expect, it } from 'vitest'
import { parseSparkRemote } from '../../../../src/engines/spark/connect/line/remote.ts'
import { caught } from '../../../support/caught.ts'

const GOOD: Record<string, { baseUrl: string; token?: string; userId?: string }> = {
  'sc://spark': { baseUrl: 'http://spark:15002' },
  'sc://spark:15003': { baseUrl: 'http://spark:15003' },
  'sc://spark:80': { baseUrl: 'http://spark:80' },
  'sc://spark:443/;use_ssl=true': { baseUrl: 'https://spark:443' },
  'sc://[::1]:15002/': { baseUrl: 'http://[::1]:15002' },
  'sc://spark/;token=a%3Bb;user_id=me': { baseUrl: 'https://spark:15002', token: 'a;b', userId: 'me' },
  'sc://spark/;token=abc=;use_ssl=false': { baseUrl: 'http://spark:15002', token: 'abc=' },
  'sc://127.0.0.1/;token=abc': { baseUrl: 'http://127.0.0.1:15002', token: 'abc' },
  'sc://spark/;user_agent=x': { baseUrl: 'http://spark:15002' },
}

const BAD = [
  '',
  'spark:15002',
  'http://spark:15002',
  'sc://',
  'sc://spark:99999',
  'sc://spark:x',
  'sc://secret@spark',
  'sc://spark/path/;token=secret',
  'sc://spark?token=secret',
  'sc://spark/;tokn=secret',
  'sc://spark/;token',
  'sc://spark/;token=secret%',
  'sc://spark/;token=secret;use_ssl=yes',
  'sc://a b/;token=secret',
]

describe('parseSparkRemote', () => {
  for (const [text, expected] of Object.entries(GOOD)) {
    it(`reads ${text}`, () => {
      const remote = parseSparkRemote(text)
      expect(remote).toMatchObject({ token: undefined, userId: undefined, ...expected })
      expect(remote.address).toBe(expected.baseUrl.replace(/^https?/, 'sc'))
    })
  }

  for (const text of BAD) {
    it(`refuses ${JSON.stringify(text)} without its secrets`, () => {
      const error = caught(() => parseSparkRemote(text))
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' })
      expect(String(error)).not.toContain('secret')
    })
  }
})
