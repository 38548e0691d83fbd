import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { CreateBucketCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { OutputTail } from './child-output.ts'
import { PYTHON } from './environment.ts'
import { freePort } from '../../support/network/free-port.ts'
import { until } from '../../support/waiting.ts'

const CREDENTIALS = { accessKeyId: 'lockhouse', secretAccessKey: 'interop-secret' }
const REGION = 'eu-central-1'

/** An independent S3 server (Moto), in a separate process on loopback, with one bucket. */
export class ObjectStore {
  readonly bucket = 'lake'
  /** The properties with which PyIceberg and the service connect to it. */
  readonly properties: Readonly<Record<string, string>>
  readonly #child: ChildProcess
  readonly #client: S3Client

  private constructor(child: ChildProcess, endpoint: string) {
    this.#child = child
    this.#client = new S3Client({ endpoint, region: REGION, credentials: CREDENTIALS, forcePathStyle: true })
    this.properties = {
      's3.endpoint': endpoint,
      's3.region': REGION,
      's3.access-key-id': CREDENTIALS.accessKeyId,
      's3.secret-access-key': CREDENTIALS.secretAccessKey,
    }
  }

  static async start(): Promise<ObjectStore> {
    if (!PYTHON) throw new Error('LOCKHOUSE_PYTHON is not set')
    const port = await freePort()
    const child = spawn(PYTHON, ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const log = new OutputTail(child.stdout, child.stderr)
    const store = new ObjectStore(child, `http://127.0.0.1:${port}`)
    const isReady = async (): Promise<boolean> => {
      if (child.exitCode !== null) throw new Error(`Moto ended at start:\n${log.text}`)
      const found = await fetch(`http://127.0.0.1:${port}/moto-api/`).catch(() => undefined)
      return found?.status === 200
    }
    await until(isReady, () => `an answer of Moto:\n${log.text}`, 60_000)
    const configuration = { LocationConstraint: REGION } as const
    await store.#client.send(
      new CreateBucketCommand({ Bucket: store.bucket, CreateBucketConfiguration: configuration }),
    )
    return store
  }

  /** Locations of all objects below a location, sorted. */
  async list(location: string): Promise<string[]> {
    const root = `s3://${this.bucket}/`
    const found: string[] = []
    let token: string | undefined
    do {
      const Prefix = location.slice(root.length)
      const page = await this.#client.send(
        new ListObjectsV2Command({ Bucket: this.bucket, Prefix, ContinuationToken: token }),
      )
      found.push(...(page.Contents ?? []).map(({ Key }) => root + Key))
      token = page.NextContinuationToken
    } while (token !== undefined)
    return found.sort()
  }

  async stop(): Promise<void> {
    this.#client.destroy()
    if (this.#child.exitCode !== null) return
    const closed = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    await closed
  }
}
