import { mkdir, readdir, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { isProcessAlive } from '../../lib/is-process-alive.ts'
import { PRIVATE_FOLDER } from './backup-files.ts'

const MARK = '.unfinished-'

/**
 * Makes the folder in which `target` is prepared: beside it, so that it can be renamed, with the id of this process in its
 * name. Those of ended processes for the same target are removed first.
 */
export async function makeUnfinishedFolder(target: string): Promise<string> {
  const final = resolve(target)
  const parent = dirname(final)
  await mkdir(parent, { recursive: true })
  const prefix = `${basename(final)}${MARK}`
  for (const name of await readdir(parent)) {
    if (!name.startsWith(prefix) || !isEnded(name.slice(prefix.length))) continue
    await rm(join(parent, name), { recursive: true, force: true })
  }
  const folder = `${final}${MARK}${process.pid}`
  await mkdir(folder, { mode: PRIVATE_FOLDER })
  return folder
}

/** Whether no process has the id any more; what is no id does not belong to a folder of ours. */
function isEnded(pid: string): boolean {
  if (!/^[1-9]\d{0,9}$/.test(pid)) return false
  return Number(pid) === process.pid || !isProcessAlive(Number(pid))
}
