import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseConfig } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import type { Env } from '../config/env.ts'
import { createLogger } from '../services/logger.ts'
import { embedService } from './embed-service.ts'
import type { ServiceBundle } from './open-service.ts'

export interface DirectOptions {
  /** As `PUT /api/config` takes it. */
  readonly catalog: unknown
  readonly env: Env
  readonly openBundle: (home: string) => ServiceBundle | undefined
}

/** A service for one command: it has a catalog and nothing else. */
export interface DirectService {
  readonly fetch: (request: Request) => Promise<Response>
  readonly token: string
  /** Cancels what runs, and removes the folder of the service. */
  readonly close: () => Promise<void>
}

/** Settings that make sense for one command; `CONFIG_ENV_ALLOW` names more variables that a catalog may use. */
const PASSED_ON = /^(LAKE_|ENGINE_|AWS_)|^CONFIG_ENV_ALLOW$/

/**
 * Opens a catalog in this process, with the same checks and operations as a service has. Pins in tables keep what pipelines
 * of other services need. There is no quarantine: what is removed is gone. Throws {@link ConfigError}.
 */
export async function openCatalogDirectly({ catalog, env, openBundle }: DirectOptions): Promise<DirectService> {
  const home = await mkdtemp(join(tmpdir(), 'lockhouse-direct-'))
  const allowed = (env['CONFIG_ENV_ALLOW'] ?? '').split(',').map((name) => name.trim())
  const passed = Object.entries(env).filter(([name]) => PASSED_ON.test(name) || allowed.includes(name))
  const settings: Env = {
    ...Object.fromEntries(passed),
    LOCKHOUSE_HOME: home,
    NOTEBOOKS: 'off',
    QUARANTINE_DAYS: '0',
  }
  const log = createLogger('silent', () => undefined)
  const service = await embedService({ config: parseConfig(settings), env: settings, log, bundle: openBundle(home) })
  let closing: Promise<void> | undefined
  const end = async (): Promise<void> => {
    await service.close()
    await rm(home, { recursive: true, force: true })
  }
  const close = (): Promise<void> => (closing ??= end())
  try {
    const token = service.firstToken ?? ''
    await configure(service.fetch, token, catalog)
    return { fetch: service.fetch, token, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function configure(
  fetch: (request: Request) => Promise<Response>,
  token: string,
  catalog: unknown,
): Promise<void> {
  const request = new Request('http://localhost/api/config', {
    method: 'PUT',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(catalog),
  })
  const response = await fetch(request)
  if (response.ok) return
  const { code, detail } = (await response.json()) as { readonly code: string; readonly detail: string }
  throw new ConfigError(`the catalog cannot be used: ${code}: ${detail}`)
}
