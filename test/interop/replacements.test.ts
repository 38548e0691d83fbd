import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { creationOf, REPLACEMENTS, replacementUpdates } from '../iceberg/update/apply/replacements.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { restServerAvailable } from './harness/environment.ts'
import { RestServer } from './harness/rest-server.ts'

const available = restServerAvailable('replacements of tables by Iceberg REST servers')

/** Both servers get the same requests; Iceberg's Java library then loads what Lockhouse has written. */
describe.skipIf(!available)('a replacement of a table', { timeout: 300_000 }, () => {
  const folder = available ? mkdtempSync(join(tmpdir(), 'replacements-')) : ''
  let server: RestServer
  let service: TestService
  beforeAll(async () => {
    server = await RestServer.start()
    service = await startTestService()
    expect((await apache('POST', 'namespaces', { namespace: ['r'], properties: {} })).status).toBe(200)
    expect((await here('POST', 'namespaces', { namespace: ['r'], properties: {} })).status).toBe(200)
  })
  afterAll(async () => {
    await service?.close()
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  async function apache(method: string, path: string, body?: object) {
    const headers = { 'Content-Type': 'application/json' }
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const response = await fetch(`${server.uri(folder)}/v1/${path}`, init)
    return { status: response.status, body: await response.json() }
  }
  const here = (method: string, path: string, body?: object) =>
    service.call(method, `/iceberg/v1/${path}`, body === undefined ? {} : { body })

  const cases = REPLACEMENTS.flatMap(({ name, versions, ...layouts }) =>
    versions.map((version) => ({ name, version, ...layouts })),
  )

  it.each(cases)('is accepted as by Apache Iceberg when it $name in version $version', async (one) => {
    const table = `t${cases.indexOf(one)}`
    const creation = creationOf(table, one.before, one.version)
    const replacement = { requirements: [], updates: replacementUpdates(one) }
    const answers = []
    for (const send of [apache, here]) {
      const created = await send('POST', 'namespaces/r/tables', creation)
      expect(created.status, JSON.stringify(created.body)).toBe(200)
      const replaced = await send('POST', `namespaces/r/tables/${table}`, replacement)
      answers.push(replaced)
    }
    const [theirs, ours] = answers
    expect([theirs?.status, ours?.status], JSON.stringify([theirs?.body, ours?.body])).toEqual([200, 200])
    const registration = { name: `${table}_loaded`, 'metadata-location': ours?.body['metadata-location'] }
    const loaded = await apache('POST', 'namespaces/r/register', registration)
    expect(loaded.status, JSON.stringify(loaded.body)).toBe(200)
    for (const key of ['last-column-id', 'last-partition-id']) {
      expect(ours?.body.metadata[key], key).toBe(theirs?.body.metadata[key])
    }
  })
})
