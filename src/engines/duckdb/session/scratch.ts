import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'

import { IcebergError } from '../../../iceberg/errors.ts'
import { isProcessAlive } from '../../../lib/is-process-alive.ts'

const PREFIX = 'lockhouse-engine-'
const MARKER = 'owner.json'
/** An owner on another machine counts as ended when its marker was not updated for this long, ms. */
const ABANDONED_AFTER_MS = 15 * 60_000
const HEARTBEAT_MS = 60_000

/** Scratch folders of engines in this process, which a later engine must not sweep. */
const ours = new Set<string>()

interface Owner {
  readonly pid: number
  readonly host: string
}

/**
 * A folder for staged inputs, spilled rows and unfinished outputs. It belongs to one engine; folders of engines of ended
 * processes are removed when the next one starts. Only folders that this class created are removed.
 */
export class ScratchFolder {
  readonly path: string
  readonly #heartbeat: NodeJS.Timeout

  private constructor(path: string) {
    this.path = path
    this.#heartbeat = setInterval(() => {
      const now = new Date()
      utimes(join(path, MARKER), now, now).catch(() => undefined)
    }, HEARTBEAT_MS)
    this.#heartbeat.unref()
  }

  /** Makes a new folder below `parent` after sweeping it; `IO_FAILED` when it cannot be written. */
  static async create(parent: string): Promise<ScratchFolder> {
    const base = resolve(parent)
    if (/[*?[\]\n\r]/.test(base)) {
      throw new IcebergError(
        'INVALID_ARGUMENT',
        `the path of the scratch directory ${base} must not contain * ? [ or ]`,
      )
    }
    try {
      await mkdir(base, { recursive: true })
      await sweepScratch(base)
      const path = await mkdtemp(join(base, PREFIX))
      ours.add(path)
      const owner: Owner = { pid: process.pid, host: hostname() }
      await writeFile(join(path, MARKER), JSON.stringify(owner))
      return new ScratchFolder(path)
    } catch (cause) {
      if (cause instanceof IcebergError) throw cause
      throw new IcebergError('IO_FAILED', `the scratch directory ${base} cannot be written: ${textOf(cause)}`, {
        cause,
      })
    }
  }

  /** A new empty folder inside. */
  newFolder(name: string): Promise<string> {
    return mkdtemp(join(this.path, `${name}-`))
  }

  /** Removes the folder and everything in it. */
  async remove(): Promise<void> {
    clearInterval(this.#heartbeat)
    await rm(this.path, { recursive: true, force: true, maxRetries: 3 })
    ours.delete(this.path)
  }
}

/** Removes the folders of engines of ended processes below `base`, which may hold rows of tables. */
export async function sweepScratch(base: string): Promise<void> {
  for (const name of await readdir(base)) {
    const path = join(base, name)
    if (name.startsWith(PREFIX) && !ours.has(path) && (await isAbandoned(path))) {
      await rm(path, { recursive: true, force: true, maxRetries: 3 })
    }
  }
}

async function isAbandoned(path: string): Promise<boolean> {
  const owner = await readOwner(path)
  const touched = await stat(owner === undefined ? path : join(path, MARKER)).catch(() => undefined)
  const silent = touched === undefined || Date.now() - touched.mtimeMs > ABANDONED_AFTER_MS
  if (owner === undefined || owner.host !== hostname()) return silent
  // in a container, the service has the same process id after each restart
  return owner.pid === process.pid || silent || !isProcessAlive(owner.pid)
}

async function readOwner(path: string): Promise<Owner | undefined> {
  try {
    const owner: unknown = JSON.parse(await readFile(join(path, MARKER), 'utf8'))
    return isOwner(owner) ? owner : undefined
  } catch {
    return undefined
  }
}

function isOwner(value: unknown): value is Owner {
  if (typeof value !== 'object' || value === null) return false
  const { pid, host } = value as Partial<Owner>
  return Number.isInteger(pid) && typeof host === 'string'
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
