import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

import { afterEach, describe, expect, it } from 'vitest'

import type { Catalog } from '../../src/catalog/catalog.ts'
import { LONG } from '../support/effort.ts'
import { postgresPlace, postgresServer } from '../storage/open.ts'
import { openStored, URI_FILE } from './stored-catalog.ts'
import { createEvents, EVENTS } from './support-files.ts'
import { temporaryFolders } from './support.ts'
import { sleep } from '../support/waiting.ts'

const newFolder = temporaryFolders()
const removals: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const remove of removals.splice(0)) await remove()
})

async function newPlace(kind: string): Promise<string> {
  const folder = newFolder()
  if (kind !== 'postgresql') return folder
  const { place, remove } = await postgresPlace()
  removals.push(remove)
  writeFileSync(join(folder, URI_FILE), place)
  return folder
}

interface Committer {
  readonly child: ChildProcess
  /** The keys that it reported as committed, once it has ended. */
  readonly committed: Promise<readonly string[]>
}

function startCommitter(kind: string, folder: string, prefix: string, count: number): Committer {
  const script = join(import.meta.dirname, 'commit-in-process.ts')
  const args = ['--no-warnings', script, kind, folder, prefix, String(count)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = text(child.stdout).then((output) => output.split('\n').slice(0, -1))
  return { child, committed: Promise.all([lines, once(child, 'close')]).then(([keys]) => keys) }
}

async function withCatalog<T>(kind: string, folder: string, work: (catalog: Catalog) => Promise<T>): Promise<T> {
  const catalog = openStored(kind, folder)
  try {
    return await work(catalog)
  } finally {
    await catalog.close()
  }
}

const KINDS = postgresServer === undefined ? ['sql', 'hadoop'] : ['sql', 'postgresql', 'hadoop']

describe.each(KINDS)('processes that share a %s catalog', (kind) => {
  it('all complete every commit', LONG, async () => {
    const folder = await newPlace(kind)
    await withCatalog(kind, folder, createEvents)
    const committers = ['a', 'b', 'c', 'd'].map((prefix) => startCommitter(kind, folder, prefix, 8))
    const committed = (await Promise.all(committers.map((committer) => committer.committed))).flat()
    expect(committed).toHaveLength(32)
    const { metadata } = await withCatalog(kind, folder, (catalog) => catalog.loadTable(EVENTS))
    expect(Object.keys(metadata.properties)).toEqual(expect.arrayContaining(committed))
    expect(metadata.metadataLog).toHaveLength(32)
    expect(new Set(metadata.metadataLog.map((entry) => entry.metadataFile)).size).toBe(32)
  })

  it('lose no acknowledged commit when they are killed at any moment', LONG, async () => {
    const folder = await newPlace(kind)
    await withCatalog(kind, folder, createEvents)
    const acknowledged: string[] = []
    for (let round = 0; round < 8; round++) {
      const { child, committed } = startCommitter(kind, folder, `r${round}-`, 100_000)
      await once(child.stdout ?? child, 'readable')
      await sleep(Math.random() * 60)
      child.kill('SIGKILL')
      acknowledged.push(...(await committed))
      const { metadata } = await withCatalog(kind, folder, (catalog) => catalog.loadTable(EVENTS))
      const keys = Object.keys(metadata.properties)
      expect(keys).toEqual(expect.arrayContaining(acknowledged))
      // At most the commit in progress at the kill is stored without acknowledgement.
      const extra = keys.filter((key) => key.startsWith(`r${round}-`) && !acknowledged.includes(key))
      expect(extra.length).toBeLessThanOrEqual(1)
    }
    expect(acknowledged.length).toBeGreaterThan(8)
  })
})
