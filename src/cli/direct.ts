import { readFile } from 'node:fs/promises'
import { createApiClient } from './api-client.ts'
import type { Call } from './command.ts'
import { CommandError } from './errors.ts'
import { local } from './local.ts'

/** Exit code of a process that was interrupted (128 and the number of SIGINT). */
const INTERRUPTED = 130

/** Runs a command on a catalog without a service; an interruption cancels the operation and cleans up after it. */
export async function withCatalog(call: Call, file: string, run: (call: Call) => Promise<void>): Promise<void> {
  const { openCatalogDirectly } = await import('../server/open-catalog-directly.ts')
  const catalog = await readCatalog(file)
  const { env, bundle: openBundle } = call
  const service = await local(() => openCatalogDirectly({ catalog, env, openBundle }))
  const interrupt = (): void => void service.close().then(() => process.exit(INTERRUPTED))
  process.once('SIGINT', interrupt)
  process.once('SIGTERM', interrupt)
  try {
    const { fetch, token } = service
    await run({ ...call, isDirect: true, api: createApiClient({ server: 'http://localhost', token, fetch }) })
  } finally {
    process.off('SIGINT', interrupt)
    process.off('SIGTERM', interrupt)
    await service.close()
  }
}

async function readCatalog(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new CommandError(`${file} cannot be read`)
  })
  try {
    return JSON.parse(text)
  } catch {
    throw new CommandError(`${file} is not JSON`)
  }
}
