import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openSparkClient } from '../../../../src/engines/spark/connect/open-spark-client.ts'
import { createAuthority } from '../../../support/kubernetes-api/certificates.ts'
import { FakeSpark, type FakeSparkOptions } from '../../../support/spark-connect/fake-spark.ts'
import { newRun, newSession, refused, startLab } from './support.ts'

const LIMITS = { callMs: 2000, pauseMs: 5 }

async function start(options: FakeSparkOptions): Promise<FakeSpark> {
  const spark = await FakeSpark.start(options)
  onTestFinished(() => spark.stop())
  return spark
}

function open(remote: string, certificateAuthority?: string) {
  const client = openSparkClient(remote, { limits: LIMITS, ...(certificateAuthority && { certificateAuthority }) })
  onTestFinished(() => client.close())
  return newSession(client)
}

describe('tokens', () => {
  it('are sent with each call', async () => {
    const spark = await start({ token: 's3cret' })
    const session = open(`${spark.remote}/;token=s3cret`)
    expect(await session.version()).toBe('4.1.4')
    expect(await session.activeStreams().catch((error: unknown) => error)).toMatchObject({ code: 'PROTOCOL' })
  })

  for (const remote of ['', '/;token=wrong']) {
    it(`are refused when ${remote ? 'wrong' : 'missing'}, at once and by name`, async () => {
      const spark = await start({ token: 's3cret' })
      const error = await refused(open(`${spark.remote}${remote}`).version())
      expect(error).toMatchObject({ code: 'UNAUTHENTICATED', isOutcomeUnknown: false })
      expect(error.message).not.toContain('wrong')
      expect(spark.calls.length).toBe(1)
    })
  }

  it('that end in the middle of an operation do not hide that it may have run', async () => {
    const { session, spark } = await startLab()
    spark.faults.push({ after: 0, how: 'end' })
    spark.before = (method) => {
      if (method === 'reattachExecute') throw new ConnectError('Invalid authentication token', Code.Unauthenticated)
    }
    expect(await refused(session.sql({ query: 'CALL p()' }, newRun()))).toMatchObject({
      code: 'UNAUTHENTICATED',
      isOutcomeUnknown: true,
    })
  })
})

describe('refusals of the first request', () => {
  for (const code of [Code.Unauthenticated, Code.PermissionDenied, Code.Unimplemented]) {
    it(`mean that nothing ran: ${Code[code]}`, async () => {
      const { session, spark } = await startLab()
      await session.version()
      spark.before = () => {
        throw new ConnectError('refused', code)
      }
      expect((await refused(session.sql({ query: 'CALL p()' }, newRun()))).isOutcomeUnknown).toBe(false)
    })
  }
})

describe('TLS', () => {
  const authority = createAuthority()
  const { key, certificate: cert } = authority.issueServer()

  it('to an address and to a name, with a token', async () => {
    const spark = await start({ token: 's3cret', tls: { key, cert } })
    for (const host of ['127.0.0.1', 'localhost']) {
      const session = open(`sc://${host}:${spark.port}/;use_ssl=true;token=s3cret`, authority.certificate)
      expect(await session.version()).toBe('4.1.4')
    }
  })

  it('refuses a certificate of an unknown authority', async () => {
    const spark = await start({ tls: { key, cert } })
    const error = await refused(open(`sc://127.0.0.1:${spark.port}/;use_ssl=true`).version())
    expect(error).toMatchObject({ code: 'UNREACHABLE' })
    expect(spark.calls).toEqual([])
  })

  it('refuses a server without TLS, and sends it no token', async () => {
    const spark = await start({ token: 's3cret' })
    const error = await refused(open(`sc://127.0.0.1:${spark.port}/;use_ssl=true;token=s3cret`).version())
    expect(['UNREACHABLE', 'PROTOCOL']).toContain(error.code)
    expect(spark.calls).toEqual([])
  })
})

describe('servers that are not Spark', () => {
  it('are named as such', async () => {
    const { session, spark } = await startLab()
    spark.before = () => {
      throw new ConnectError('unknown service', Code.Unimplemented)
    }
    expect(await refused(session.version())).toMatchObject({ code: 'UNSUPPORTED_VERSION' })
  })
})
