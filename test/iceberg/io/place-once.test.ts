import { link, mkdtemp, readFile, rename, rm, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { linkOnce, type NameFile, renameOnce } from '../../../src/iceberg/io/place-once.ts'

let folder = ''
let source = ''
let target = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'place-'))
  source = join(folder, 'temporary')
  target = join(folder, 'v2.metadata.json')
  await writeFile(source, 'mine')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** A system call whose reply an NFS client loses, so that the client repeats the call. */
function repeated(call: NameFile, between: () => Promise<void> = async () => {}): NameFile {
  return async (from, to) => {
    await call(from, to)
    await between()
    await call(from, to)
  }
}

describe('linkOnce', () => {
  it('counts a link as its own when the reply was lost and the repeated call says EEXIST', async () => {
    await linkOnce(source, target, repeated(link))
    expect(await readFile(target, 'utf8')).toBe('mine')
  })

  it("reports EEXIST when the target is another writer's file, even one of the same bytes", async () => {
    await writeFile(target, 'mine')
    await expect(linkOnce(source, target)).rejects.toMatchObject({ code: 'EEXIST' })
    await expect(linkOnce(source, target, repeated(link))).rejects.toMatchObject({ code: 'EEXIST' })
  })

  it('leaves the outcome open when the name is gone again after EEXIST', async () => {
    const gone: NameFile = async (from, to) => {
      await repeated(link)(from, to).catch(async (error: unknown) => {
        await unlink(to)
        throw error
      })
    }
    await expect(linkOnce(source, target, gone)).rejects.toMatchObject({ name: 'UncertainPlaceError' })
  })
})

describe('renameOnce', () => {
  it('counts a rename as its own when the reply was lost and the repeated call says ENOENT', async () => {
    await writeFile(target, 'old')
    await renameOnce(source, target, repeated(rename))
    expect(await readFile(target, 'utf8')).toBe('mine')
  })

  it('reports ENOENT when the target is another file', async () => {
    const replaced = repeated(rename, async () => {
      await unlink(target)
      await writeFile(join(folder, 'x'), 'x') // so that the inode is not used again
      await writeFile(target, 'other')
    })
    const keeper = join(folder, 'keeper')
    await link(source, keeper)
    await expect(renameOnce(source, target, replaced)).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
