import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { googleSettings } from '../../../src/catalog/stores/google-settings.ts'
import { GoogleFileIO } from '../../../src/iceberg/io/google/file-io.ts'
import { FakeGcs } from '../../support/network/fake-gcs.ts'

const FILE = 'gs://lake/wh/a'
const bytes = new TextEncoder().encode('rows')

/** The metadata server of a machine, and a token service for workload identities. */
class FakeTokens {
  readonly asked: string[] = []
  /** The answer to requests for tokens. */
  issue: () => { readonly status: number; readonly body: object } = () => ({ status: 500, body: {} })
  readonly #server: Server = createServer((request, response) => {
    this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error))
  })

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return this
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const path = (request.url ?? '').split('?')[0]
    this.asked.push(`${path} ${Buffer.concat(chunks).toString()}`.trim())
    const { status, body } = this.issue()
    response.writeHead(status, { 'Content-Type': 'application/json', 'Metadata-Flavor': 'Google' })
    response.end(JSON.stringify(body))
  }
}

describe('the application default credentials', () => {
  let store: FakeGcs
  let tokens: FakeTokens
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'google-'))
    tokens = await new FakeTokens().start()
  })
  beforeEach(async () => {
    store = await FakeGcs.start('lake')
    tokens.asked.length = 0
    tokens.issue = () => ({ status: 200, body: issued(3600) })
    for (const name of Object.keys(process.env)) {
      if (/^(GOOGLE_|GCE_|GCLOUD_|CLOUDSDK_)/.test(name)) vi.stubEnv(name, undefined)
    }
    vi.stubEnv('CLOUDSDK_CONFIG', folder)
    vi.stubEnv('HOME', folder)
    vi.stubEnv('METADATA_SERVER_DETECTION', 'none')
  })
  afterEach(async () => {
    vi.unstubAllEnvs()
    await store.close()
  })
  afterAll(async () => {
    await tokens.close()
    await rm(folder, { recursive: true, force: true })
  })

  const issued = (lifeS: number) => ({
    access_token: store.issueToken(lifeS * 1000),
    expires_in: lifeS,
    token_type: 'Bearer',
    issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  })

  function open(): GoogleFileIO {
    const settings = googleSettings((name) => (name === 'gcs.service.host' ? store.endpoint : undefined))
    return new GoogleFileIO({ settings, roots: ['gs://lake/wh'] })
  }

  function useMachine(): void {
    vi.stubEnv('METADATA_SERVER_DETECTION', 'assume-present')
    vi.stubEnv('GCE_METADATA_HOST', tokens.host)
  }

  async function useFile(content: string): Promise<void> {
    await writeFile(join(folder, 'key.json'), content)
    vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', join(folder, 'key.json'))
  }

  async function failure(): Promise<Error> {
    return open()
      .read(FILE)
      .then(
        () => new Error('no error'),
        (error: Error) => error,
      )
  }

  it('are those of the machine, whose token serves many requests', async () => {
    useMachine()
    const io = open()
    await Promise.all([io.write(FILE, bytes), io.write(`${FILE}b`, bytes)])
    expect(await io.read(FILE)).toEqual(bytes)
    expect(tokens.asked).toEqual(['/computeMetadata/v1/instance/service-accounts/default/token'])
  })

  it('are obtained again when the store refuses the token, and only once if the new one is refused too', async () => {
    useMachine()
    const io = open()
    await io.write(FILE, bytes)
    store.tokens.clear()
    expect(await io.read(FILE)).toEqual(bytes)
    expect(tokens.asked).toHaveLength(2)
    const same = { ...issued(3600), access_token: 'ya29.secret-that-is-unknown' }
    tokens.issue = () => ({ status: 200, body: same })
    store.tokens.clear()
    const error = await io.read(FILE).catch((caught: unknown) => caught)
    expect(error).toMatchObject({
      code: 'IO_FAILED',
      message: expect.stringMatching(/the token is missing, unknown or expired/),
    })
    expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/secret/)
    expect(tokens.asked).toHaveLength(4)
  })

  it('are those of a workload identity', async () => {
    await writeFile(join(folder, 'subject'), 'subject-token')
    await useFile(
      JSON.stringify({
        type: 'external_account',
        audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/us',
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        token_url: `http://${tokens.host}/v1/token`,
        credential_source: { file: join(folder, 'subject') },
      }),
    )
    const io = open()
    await io.create(FILE, bytes)
    expect(tokens.asked).toEqual([expect.stringMatching(/^\/v1\/token .*subject_token=subject-token/)])
    tokens.issue = () => ({ status: 400, body: { error: 'invalid_grant', error_description: 'secret-subject' } })
    const error = await failure()
    expect(error.message).toMatch(/do not work \(invalid_grant\); check GOOGLE_APPLICATION_CREDENTIALS/)
    expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/secret|subject/)
  })

  it('that are missing are named, with the ways to set them', async () => {
    const error = await failure()
    expect(error).toMatchObject({ code: 'IO_FAILED' })
    expect(error.message).toMatch(/there are no credentials; set gcs\.oauth2\.token, or GOOGLE_APPLICATION_CREDENTIALS/)
    expect(store.calls).toEqual([])
  })

  it.each(['secret-key that is no JSON', '{"type":"service_account","private_key":"secret"}', '{"type":"secret"}', ''])(
    'in a file with %j are refused without showing the file',
    async (content) => {
      await useFile(content)
      const error = await failure()
      expect(error.message).toMatch(/the application default credentials do not work; check GOOGLE_APPLICATION_CRED/)
      expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/secret/)
    },
  )
})
