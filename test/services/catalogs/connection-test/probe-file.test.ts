import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fixedCredentials } from '../../../../src/iceberg/io/objects/credential-source.ts'
import { S3FileIO } from '../../../../src/iceberg/io/s3/file-io.ts'
import { newProbeLocation, probeFile } from '../../../../src/services/catalogs/connection-test/probe-file.ts'
import { LONG } from '../../../support/effort.ts'
import { FakeS3 } from '../../../support/network/fake-s3.ts'
import type { StoreFault } from '../../../support/network/store-answers.ts'

let store: FakeS3
let io: S3FileIO
beforeEach(async () => {
  store = await FakeS3.start('lake')
  const { endpoint, credentials } = store
  io = new S3FileIO({ endpoint, credentials: fixedCredentials(credentials), pathStyle: true, roots: ['s3://lake'] })
  await io.create('s3://lake/wh/other.txt', new TextEncoder().encode('other'))
})
afterEach(() => store.close())

const content = () => new Map([...store.objects].map(([name, { bytes }]) => [name, bytes.toString()]))
const FAULTS: readonly StoreFault[] = [
  'twice',
  'cut-before',
  'cut-after',
  'fail-before',
  'fail-after',
  'cut-body',
  'deny',
  'full',
]

describe('a probe file', () => {
  it('is gone after the probe, and no other file is touched', async () => {
    const before = content()
    await probeFile(io, newProbeLocation('s3://lake/wh/'))
    expect(content()).toEqual(before)
    expect(store.calls.filter((call) => /^(PUT|DELETE)/.test(call) && !call.includes('lockhouse-probe-'))).toEqual([
      'PUT wh/other.txt',
    ])
  })

  it('never replaces or deletes a file of its name', async () => {
    const location = newProbeLocation('s3://lake/wh')
    await io.create(location, new TextEncoder().encode('of somebody else'))
    const before = content()
    await expect(probeFile(io, location)).rejects.toMatchObject({ code: 'FILE_EXISTS' })
    expect(content()).toEqual(before)
  })

  /** All pairs in long runs; these first ones have each a way of their own through the probe. */
  const PAIRS = FAULTS.flatMap((fault) => ['PUT', 'GET', 'DELETE', 'HEAD'].map((method) => [method, fault] as const))
  const OWN_WAYS = ['PUT cut-after', 'PUT full', 'GET deny', 'GET cut-body', 'DELETE deny', 'HEAD fail-before']
  const isLong = ([method, fault]: (typeof PAIRS)[number]) => !OWN_WAYS.includes(`${method} ${fault}`)

  it.for(PAIRS.filter((pair) => !isLong(pair)))('is deleted or named when %s meets %s', failsOnceOrAlways)
  it.for(PAIRS.filter(isLong))('is deleted or named when %s meets %s, in long runs', LONG, failsOnceOrAlways)

  async function failsOnceOrAlways([method, fault]: readonly [string, StoreFault]): Promise<void> {
    for (const times of [1, Infinity]) {
      let left = times
      store.fault = (call) => (call.method === method && call.key.includes('probe') && left-- > 0 ? fault : undefined)
      const before = content()
      const location = newProbeLocation('s3://lake/wh')
      const error = await probeFile(io, location).catch((failure: unknown) => failure)
      store.fault = undefined
      const after = content()
      const remains = after.delete(location.slice('s3://'.length))
      expect(after, `${times} × ${fault}`).toEqual(before)
      if (remains) expect(String(error)).toContain(location)
      if (error === undefined) expect(remains).toBe(false)
      await io.delete(location)
    }
  }
})
