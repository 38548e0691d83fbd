import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join, resolve } from 'node:path'
import { type Config, parseConfig } from '../../config/config.ts'
import { ConfigError } from '../../config/config-error.ts'
import type { Env } from '../../config/env.ts'
import { countTables, readState, type StoresToCheck } from '../../context/check-stores.ts'
import { checkDuckDbLoad } from '../../engines/duckdb/check-load.ts'
import type { WorkerCommand } from '../../engines/duckdb/worker/worker-command.ts'
import { errnoCode } from '../../iceberg/io/io-error.ts'
import { providerKeysAddress } from '../../services/identity/key-set.ts'
import { damageOf, inspect, NEWEST_SCHEMA } from './backup-files.ts'

/** What one check found. */
export interface Finding {
  readonly check:
    | 'settings'
    | 'folder'
    | 'disk'
    | 'keys'
    | 'state'
    | 'catalog'
    | 'engine'
    | 'clock'
    | 'port'
    | 'sign-in'
  readonly status: 'ok' | 'warning' | 'failed'
  readonly detail: string
  /** What to do; null when there is nothing. */
  readonly advice: string | null
}

export interface DoctorOptions {
  readonly env: Env
  /** Loads the engine; default: the worker's script. */
  readonly workerCommand?: WorkerCommand | undefined
}

const LITTLE_SPACE_BYTES = 5e9
const NO_SPACE_BYTES = 200e6
const CLOCK_SKEW_MS = 2000
const ENGINE_LIMIT_MS = 60_000

/**
 * Checks the settings of an environment and what they need: folder, disk, keys, state, catalog, engine, clock, port, and
 * the identity provider when one is configured. It changes nothing but one file of its own, which it removes, and works beside a running service.
 */
export async function diagnose({ env, workerCommand }: DoctorOptions): Promise<readonly Finding[]> {
  const config = settingsOf(env)
  if (config instanceof ConfigError) return [failed('settings', config.message, 'correct the environment variable')]
  const home = resolve(config.home)
  const stores: StoresToCheck = { config, env, stateDatabase: join(home, 'state.db') }
  return [
    ok('settings', 'the environment is valid'),
    await checkFolder(home),
    await checkDisk(home),
    await checkKeys(home),
    ...(await checkStores(home, stores)),
    await checkEngine(workerCommand),
    await checkClock(home),
    await checkPort(config),
    ...(await checkSignIn(config)),
  ]
}

/** Whether the identity provider answers, and whether any user can get a role. */
async function checkSignIn({ oidc, claims }: Config): Promise<readonly Finding[]> {
  if (oidc === undefined) return []
  if (claims.groupRoles.size === 0 && claims.defaultRole === undefined) {
    return [
      failed('sign-in', 'no group has a role, so nobody can sign in', 'set AUTH_GROUP_ROLES or AUTH_DEFAULT_ROLE'),
    ]
  }
  try {
    await providerKeysAddress(oidc.issuer)
    return [ok('sign-in', `${oidc.issuer} answers`)]
  } catch (error) {
    return [
      failed('sign-in', `${oidc.issuer}: ${textOf(error)}`, 'check AUTH_OIDC_ISSUER, the provider and the network'),
    ]
  }
}

function settingsOf(env: Env): Config | ConfigError {
  try {
    return parseConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
}

async function checkFolder(home: string): Promise<Finding> {
  const probe = join(home, `.doctor-${randomUUID()}`)
  try {
    if (!existsSync(home)) return ok('folder', `${home} does not exist yet: the first start creates it`)
    await mkdir(probe)
    await rm(probe, { recursive: true })
    return ok('folder', `${home} can be written`)
  } catch (error) {
    return failed('folder', `${home} cannot be written: ${textOf(error)}`, 'give it to the user of the service')
  }
}

async function checkDisk(home: string): Promise<Finding> {
  const folder = existsSync(home) ? home : '/'
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  const detail = `${(free / 1e9).toFixed(1)} GB are free for ${folder}`
  if (free < NO_SPACE_BYTES) return failed('disk', detail, 'free some space, or move LOCKHOUSE_HOME')
  if (free < LITTLE_SPACE_BYTES) return warning('disk', detail, 'compactions need space for the files they rewrite')
  return ok('disk', detail)
}

async function checkKeys(home: string): Promise<Finding> {
  const found = await stat(join(home, 'audit.key')).catch(() => undefined)
  if (found === undefined) return ok('keys', 'no key yet: the first start creates it')
  if (found.size !== 32) return failed('keys', 'audit.key is damaged', 'restore it from a backup')
  const isOpen = (found.mode & 0o077) !== 0
  return isOpen
    ? warning('keys', 'other users can read audit.key', 'chmod 600 audit.key')
    : ok('keys', 'audit.key is there, and only for its user')
}

async function checkStores(home: string, stores: StoresToCheck): Promise<readonly Finding[]> {
  const isFile = stores.config.databaseUrl === undefined
  if (isFile && !existsSync(stores.stateDatabase)) return [ok('state', 'no state yet: the first start creates it')]
  try {
    const damage = isFile ? inspect(stores.stateDatabase, damageOf) : undefined
    if (damage !== undefined) return [failed('state', `state.db is damaged: ${damage}`, 'restore a backup')]
    const { schemaVersion, catalog } = await readState(stores)
    const version = `schema version ${schemaVersion} of ${NEWEST_SCHEMA}`
    const state =
      schemaVersion > NEWEST_SCHEMA
        ? failed('state', `${version}: a newer release wrote it`, 'run the newer release, or restore a backup')
        : ok('state', `${isFile ? 'SQLite' : 'PostgreSQL'}, ${version}`)
    if (catalog === undefined) return [state, ok('catalog', 'none is configured yet')]
    return [
      state,
      await checkCatalog(() => countTables(catalog, stores), `${catalog.catalogType} ${catalog.warehouse}`),
    ]
  } catch (error) {
    const advice = isFile ? `check who owns the files in ${home}` : 'check DATABASE_URL, the server and the network'
    return [failed('state', textOf(error), advice)]
  }
}

async function checkCatalog(count: () => Promise<number>, name: string): Promise<Finding> {
  try {
    return ok('catalog', `${name}: ${await count()} tables`)
  } catch (error) {
    const advice = 'check its address, credentials and network; PUT /api/config changes them'
    return failed('catalog', `${name}: ${textOf(error)}`, advice)
  }
}

async function checkEngine(command: WorkerCommand | undefined): Promise<Finding> {
  try {
    await checkDuckDbLoad(AbortSignal.timeout(ENGINE_LIMIT_MS), command)
    return ok('engine', 'DuckDB loads')
  } catch (error) {
    return failed(
      'engine',
      textOf(error),
      'install again: the library of DuckDB for this platform is missing or damaged',
    )
  }
}

/** The file system of a network store has a clock of its own, which orphan removal compares with. */
async function checkClock(home: string): Promise<Finding> {
  const probe = join(existsSync(home) ? home : '/tmp', `.doctor-${randomUUID()}`)
  try {
    const before = Date.now()
    await writeFile(probe, '')
    const { mtimeMs } = await stat(probe)
    await rm(probe)
    const skew = mtimeMs < before ? before - mtimeMs : Math.max(0, mtimeMs - Date.now())
    if (skew <= CLOCK_SKEW_MS) return ok('clock', 'the clock and the file system agree')
    return warning('clock', `the file system is ${Math.round(skew / 1000)} s off`, 'synchronise the clocks')
  } catch (error) {
    return warning('clock', `not compared with the file system: ${textOf(error)}`, 'see the folder')
  }
}

async function checkPort({ host, port, basePath }: Config): Promise<Finding> {
  const problem = await listenProblem(host, port)
  if (problem === undefined) return ok('port', `${port} on ${host} is free`)
  if (problem !== 'EADDRINUSE') return failed('port', `${port} on ${host}: ${problem}`, 'change HOST or PORT')
  const answer = await fetch(`http://${host}:${port}${basePath}/api/health`, { signal: AbortSignal.timeout(5000) })
    .then((response) => response.json())
    .catch(() => undefined)
  const isOurs = typeof answer === 'object' && answer !== null && 'checks' in answer && 'uptime_s' in answer
  if (isOurs) return ok('port', `a service answers on ${port}`)
  return failed('port', `another program listens on ${port} of ${host}`, 'end it, or change PORT')
}

function listenProblem(host: string, port: number): Promise<string | undefined> {
  const server = createServer()
  return new Promise((done) => {
    server.once('error', (error) => done(errnoCode(error) ?? error.message))
    server.listen(port, host, () => server.close(() => done(undefined)))
  })
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error)
}

function ok(check: Finding['check'], detail: string): Finding {
  return { check, status: 'ok', detail, advice: null }
}

function warning(check: Finding['check'], detail: string, advice: string): Finding {
  return { check, status: 'warning', detail, advice }
}

function failed(check: Finding['check'], detail: string, advice: string): Finding {
  return { check, status: 'failed', detail, advice }
}
