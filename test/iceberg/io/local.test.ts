import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { sleep } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const withCode = (code: string) => expect.objectContaining({ name: 'IcebergError', code })
/** A folder on another file system than the temporary ones. */
const elsewhere = ['/dev/shm', '/var/tmp'].find((folder) => {
  const { dev } = statSync(folder, { throwIfNoEntry: false }) ?? {}
  return dev !== undefined && dev !== statSync(tmpdir()).dev
})
const asRoot = process.getuid?.() === 0

let scratch = ''
const io = new LocalFileIO()
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'local-io-'))
})
afterAll(() => rm(scratch, { recursive: true, force: true }))

describe('LocalFileIO locations', () => {
  it.each([
    ['s3://bucket/x'],
    ['relative/x'],
    ['file:relative'],
    ['file://otherhost/x'],
    ['file:'],
    [''],
    ['http://h/x'],
    ['/a\0b'],
  ])('refuses %j', async (location) => {
    await expect(io.read(location)).rejects.toThrow(withCode('INVALID_ARGUMENT'))
    expect(() => io.localPath(location)).toThrow(withCode('INVALID_ARGUMENT'))
  })

  it('treats every spelling of a path as the same file, and percent signs literally', () => {
    for (const location of [
      '/a/b%20c',
      'file:/a/b%20c',
      'file:///a/b%20c',
      'file://localhost/a/b%20c',
      'FILE:/a/./x/../b%20c',
    ]) {
      expect(io.localPath(location)).toBe('/a/b%20c')
    }
  })

  it('stays inside its roots', async () => {
    const rooted = new LocalFileIO({ roots: [`file://${scratch}/in`] })
    await rooted.create(`${scratch}/in/ok`, bytes('x'))
    const outside = [
      `${scratch}/in/../out`,
      `${scratch}/inside`,
      `file://${scratch}/in/../../etc/passwd`,
      '/etc/passwd',
    ]
    for (const location of outside) {
      await expect(rooted.read(location)).rejects.toThrow(withCode('INVALID_ARGUMENT'))
      await expect(rooted.write(location, bytes('x'))).rejects.toThrow(withCode('INVALID_ARGUMENT'))
      await expect(rooted.delete(location)).rejects.toThrow(withCode('INVALID_ARGUMENT'))
      await expect(rooted.moveIn(`${scratch}/in/ok`, location)).rejects.toThrow(withCode('INVALID_ARGUMENT'))
      await expect(rooted.list(location)[Symbol.asyncIterator]().next()).rejects.toThrow(withCode('INVALID_ARGUMENT'))
    }
    expect(await readdir(scratch)).toEqual(['in'])
  })
})

describe('LocalFileIO failures', () => {
  it('does not read a folder as a file', async () => {
    await mkdir(join(scratch, 'folder/sub'), { recursive: true })
    await expect(io.read(join(scratch, 'folder'))).rejects.toThrow(withCode('IO_FAILED'))
    await expect(io.create(join(scratch, 'folder'), bytes('x'))).rejects.toThrow(withCode('FILE_EXISTS'))
    await expect(io.write(join(scratch, 'folder'), bytes('x'))).rejects.toThrow(withCode('IO_FAILED'))
    await expect(io.delete(join(scratch, 'folder'))).rejects.toThrow(withCode('IO_FAILED'))
    expect(await readdir(scratch)).not.toContainEqual(expect.stringContaining('.tmp-'))
  })

  it('reports a full disk as NO_SPACE', async () => {
    // Writing to /dev/full fails with ENOSPC on every Linux, also for root.
    await symlink('/dev/full', join(scratch, 'full'))
    const { open } = await import('node:fs/promises')
    const { toIoError } = await import('../../../src/iceberg/io/io-error.ts')
    const handle = await open(join(scratch, 'full'), 'r+')
    const failure = await handle.writeFile(bytes('x')).catch((error: unknown) => error)
    await handle.close()
    expect(toIoError(failure, { action: 'write', location: 'full' })).toEqual(withCode('NO_SPACE'))
  })

  it.skipIf(asRoot)('reports missing permission clearly', async () => {
    const locked = join(scratch, 'locked')
    await mkdir(locked)
    await chmod(locked, 0o555)
    const failure = io.create(join(locked, 'x'), bytes('x'))
    await expect(failure).rejects.toThrow(withCode('IO_FAILED'))
    await expect(failure).rejects.toThrow('permission denied')
  })

  it('does not follow links to folders when it lists', async () => {
    const tree = join(scratch, 'tree')
    await mkdir(join(tree, 'sub'), { recursive: true })
    await symlink(tree, join(tree, 'sub/loop'))
    await symlink(join(scratch, 'nowhere'), join(tree, 'broken'))
    await writeFile(join(tree, 'sub/file'), 'x')
    const found: string[] = []
    for await (const { location } of io.list(tree)) found.push(location)
    expect(found).toEqual([join(tree, 'sub/file')])
  })

  it.skipIf(elsewhere === undefined)('moves in from another file system', async () => {
    const source = await mkdtemp(join(elsewhere ?? '', 'move-'))
    try {
      await writeFile(join(source, 'f'), 'rows')
      expect((await stat(source)).dev).not.toBe((await stat(scratch)).dev)
      await io.moveIn(join(source, 'f'), join(scratch, 'moved/f'))
      expect(await io.read(join(scratch, 'moved/f'))).toEqual(bytes('rows'))
      expect(await readdir(join(scratch, 'moved'))).toEqual(['f'])
      expect(await readdir(source)).toEqual([])
      await writeFile(join(source, 'g'), 'other')
      await expect(io.moveIn(join(source, 'g'), join(scratch, 'moved/f'))).rejects.toThrow(withCode('FILE_EXISTS'))
      expect(await readdir(join(scratch, 'moved'))).toEqual(['f'])
    } finally {
      await rm(source, { recursive: true, force: true })
    }
  })
})

describe('LocalFileIO and crashes', () => {
  it('never shows a half-written file under its final name', LONG, async () => {
    const folder = join(scratch, 'crash')
    const module = new URL('../../../src/iceberg/io/local.ts', import.meta.url).href
    // A process writes complete 8 MiB files over and over; it is killed at a random moment, many times.
    const script = `import { LocalFileIO } from ${JSON.stringify(module)}
      const io = new LocalFileIO(), content = new Uint8Array(8 << 20).fill(7)
      for (let n = 0; ; n++) {
        await io.create(${JSON.stringify(folder)} + '/created-' + process.pid + '-' + n, content)
        await io.write(${JSON.stringify(folder)} + '/replaced', content)
        if (n === 0) console.log('ready')
      }`
    const program = join(scratch, 'writer.mjs')
    await writeFile(program, script)
    for (let round = 0; round < 6; round++) {
      const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] })
      await once(child.stdout, 'data')
      await sleep(40 + round * 37)
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    const names = await readdir(folder)
    const finished = names.filter((name) => !name.startsWith('.tmp-'))
    expect(finished.length).toBeGreaterThan(1)
    for (const name of finished) expect((await stat(join(folder, name))).size).toBe(8 << 20)
  })
})
