import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { contentHash, unpackNative, type NativeFile } from '../../../src/cli/binary/native-library.ts'

describe('the unpacked native library', () => {
  let folder = ''
  let files: NativeFile[] = []
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'lockhouse-native-'))
    files = ['a.node', 'b.so'].map((name, index) => {
      const content = Buffer.alloc(5000 + index, name)
      const path = join(folder, name)
      writeFileSync(path, content)
      return { name, path, hash: contentHash(content), bytes: content.length }
    })
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const unpack = (isQuick = false) => unpackNative(join(folder, 'native'), files, { isQuick })
  const expectComplete = (target: string) => {
    for (const { name, path } of files) expect(readFileSync(join(target, name)).equals(readFileSync(path))).toBe(true)
  }

  it('has its files in a folder of this user that is named after their content', () => {
    const target = unpack()
    expectComplete(target)
    expect(statSync(target).mode & 0o777).toBe(0o700)
    expect(unpack()).toBe(target)
    const [first] = files as [NativeFile]
    writeFileSync(first.path, 'another version')
    files = [{ ...first, hash: contentHash(Buffer.from('another version')), bytes: 15 }]
    const other = unpack()
    expect(other).not.toBe(target)
    expectComplete(other)
  })

  it('keeps complete files, and replaces damaged ones and ones that others could have written', () => {
    const target = unpack()
    const [kept, replaced] = files.map(({ name }) => join(target, name)) as [string, string]
    const before = statSync(kept).ino
    truncateSync(replaced, 10)
    unpack(true)
    expectComplete(target)
    writeFileSync(replaced, Buffer.alloc(5001, 'x'))
    unpack()
    expectComplete(target)
    expect(statSync(kept).ino).toBe(before)
    chmodSync(kept, 0o666)
    chmodSync(target, 0o777)
    unpack(true)
    expectComplete(target)
    expect(statSync(kept).mode & 0o777).toBe(0o600)
    expect(statSync(target).mode & 0o777).toBe(0o700)
  })

  it('removes what ended processes left behind, and nothing of a process that still unpacks', () => {
    const target = unpack()
    const leftBy = (writer: number) => {
      const path = join(target, `b.so.${writer}`)
      writeFileSync(path, 'part')
      return path
    }
    const old = leftBy(process.pid)
    leftBy(2 ** 22 + 1)
    utimesSync(old, new Date(), new Date(Date.now() - 11 * 60_000))
    leftBy(process.ppid)
    unpack()
    expect(readdirSync(target).sort()).toEqual(['a.node', 'b.so', `b.so.${process.ppid}`])
    expectComplete(target)
  })

  it('is refused where the folder is a link or the content cannot be read', () => {
    const target = unpack()
    rmSync(target, { recursive: true })
    const elsewhere = join(folder, 'elsewhere')
    mkdirSync(elsewhere)
    symlinkSync(elsewhere, target)
    expect(() => unpack()).toThrow('belongs to another user: remove it')
    expect(readdirSync(elsewhere)).toEqual([])
    rmSync(target)
    const [first] = files as [NativeFile]
    rmSync(first.path)
    expect(() => unpack()).toThrow('ENOENT')
    expect(readdirSync(dirname(target))).toHaveLength(1)
    expect(readdirSync(target)).toEqual([])
  })
})
