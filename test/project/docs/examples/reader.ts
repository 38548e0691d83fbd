import { spawnSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type ServiceProcess, startServiceProcess } from '../../../support/service-process.ts'
import { until } from '../../../support/waiting.ts'
import type { ShellOptions } from './shell-session.ts'

const REPOSITORY = join(import.meta.dirname, '../../../..')
const MINUTE_MS = 60_000
/** The program that examples call; empty where it is missing. */
export const CURL = spawnSync('sh', ['-c', 'command -v curl'], { encoding: 'utf8' }).stdout.trim()

/** A reader who types the examples of one document, beside a service of their own with the demo. */
export interface Reader extends ShellOptions {
  readonly service: ServiceProcess
  /** Answers the text of an example with the addresses, folders and times of this machine. */
  readonly local: (text: string) => string
  /** The metadata file of `demo.events`. */
  readonly metadataLocation: string
}

/** Starts the service of a reader; `foreignLake` has a catalog of another system. The caller closes the service. */
export async function startReader(folder: string, foreignLake: string): Promise<Reader> {
  const service = await startServiceProcess({
    LOCKHOUSE_DEMO: '1',
    LOCKHOUSE_ADMIN_TOKEN: '',
    LAKE_SLACK_URL: 'http://127.0.0.1:9/',
    LAKE_DB_PASSWORD: 'x',
    LAKE_CREDENTIAL: 'x:y',
    LAKE_KEY: 'x',
    LAKE_SECRET: 'x',
  })
  const token = await until(
    () => /#token=(\S+)/.exec(service.output())?.[1],
    () => service.output(),
    MINUTE_MS * 2,
  )
  await until(
    async () =>
      ((await (await service.request('GET', '/api/health', { token })).json()) as { demo: unknown }).demo === null,
    undefined,
    MINUTE_MS,
  )
  const metadataLocation = await copyOrders(service, token)
  symlinkSync(service.home, join(folder, 'data'))
  writeFileSync(join(folder, 'own.json'), await (await service.request('GET', '/api/config', { token })).text())
  const local = (text: string): string =>
    text
      .replaceAll(/http:\/\/localhost:3000|https:\/\/(lake|lockhouse)\.example\.com/g, service.url)
      .replaceAll('"catalog_name": "default"', '"catalog_name": "lockhouse"')
      .replaceAll('/srv/lake', join(foreignLake, 'home'))
      .replaceAll(/(?<=[ =])\/(backups|var\/lib)\//g, `${folder}/`)
      .replaceAll('lh_…', token)
      .replaceAll('2026-12-01T06:00:00Z', new Date(Date.now() + 3_600_000).toISOString())
  const flags = 'Bun' in globalThis ? [] : ['--disable-warning=ExperimentalWarning']
  return {
    service,
    folder,
    local,
    metadataLocation,
    env: {
      HOME: folder,
      TOKEN: token,
      LOCKHOUSE_TOKEN: token,
      LOCKHOUSE_SERVER: service.url,
      LOCKHOUSE_HOME: service.home,
      BUN_PORT: '0',
    },
    programs: {
      curl: [CURL, '--silent', '--show-error', '--fail-with-body', '--max-time', '120'],
      lockhouse: [process.execPath, ...flags, join(REPOSITORY, 'src/cli/main.ts')],
      bun: [join(REPOSITORY, 'node_modules/.bin/bun')],
    },
  }
}

/** Creates `demo.copy`, which the guide's pipelines write; answers the metadata file of `demo.events`. */
async function copyOrders(service: ServiceProcess, token: string): Promise<string> {
  const loaded = async (table: string) =>
    (await (await service.request('GET', `/iceberg/v1/namespaces/demo/tables/${table}`, { token })).json()) as {
      'metadata-location': string
      metadata: { schemas: readonly unknown[] }
    }
  const body = { name: 'copy', schema: (await loaded('orders')).metadata.schemas[0] }
  const created = await service.request('POST', '/iceberg/v1/namespaces/demo/tables', { token, body })
  expect(created.status).toBe(200)
  return (await loaded('events'))['metadata-location']
}
