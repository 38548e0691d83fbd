import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStaticFiles } from '../../src/server/static-files.ts'

let folder: string
const SCRIPT = `export const words = ${JSON.stringify('lock '.repeat(500))}`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lockhouse-static-'))
  const dist = join(folder, 'dist')
  await mkdir(join(dist, 'assets'), { recursive: true })
  await writeFile(join(dist, 'index.html'), '<!doctype html>')
  await writeFile(join(dist, '.built-from'), 'sources')
  await writeFile(join(dist, 'assets', 'index-B2_i-5.js'), SCRIPT)
  await writeFile(join(dist, 'assets', 'index-B2_i-5.js.br'), brotliCompressSync(SCRIPT))
  await writeFile(join(dist, 'assets', 'index-B2_i-5.js.gz'), gzipSync(SCRIPT))
  await writeFile(join(dist, 'assets', 'small.css'), 'a{}')
  await writeFile(join(folder, 'secret.txt'), 'not for you')
  await symlink(join(folder, 'secret.txt'), join(dist, 'link.txt'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

test('the first folder that contains a page is served', async () => {
  const files = await openStaticFiles([join(folder, 'nothing'), join(folder, 'dist')])
  expect(await files('/index.html', [])).toMatchObject({ contentType: 'text/html; charset=utf-8' })
})

test('without a page nothing is served', async () => {
  const files = await openStaticFiles([join(folder, 'nothing')])
  expect(await files('/index.html', [])).toBeUndefined()
})

test('a file is sent in the first accepted encoding that exists, with one ETag per encoding', async () => {
  const files = await openStaticFiles([join(folder, 'dist')])
  const script = '/assets/index-B2_i-5.js'
  const plain = await files(script, [])
  const short = await files(script, ['br', 'gzip'])
  const older = await files(script, ['gzip'])
  expect([plain?.encoding, short?.encoding, older?.encoding]).toEqual([undefined, 'br', 'gzip'])
  expect(new Set([plain?.etag, short?.etag, older?.etag]).size).toBe(3)
  expect(short?.contentType).toBe('text/javascript; charset=utf-8')
  expect(short?.bytes).toEqual(new Uint8Array(brotliCompressSync(SCRIPT)))
  expect(await files('/assets/small.css', ['br', 'gzip'])).not.toHaveProperty('encoding')
})

test.each([
  '/../secret.txt',
  '/assets/../../secret.txt',
  '/%2e%2e/secret.txt',
  '/link.txt',
  '/.built-from',
  '/assets/index-B2_i-5.js.br',
  '/assets',
  '//index.html',
  '/index.html\0.txt',
])('%j is not served', async (path) => {
  const files = await openStaticFiles([join(folder, 'dist')])
  expect(await files(path, ['br', 'gzip'])).toBeUndefined()
})

test('a rebuilt file is read again', async () => {
  const files = await openStaticFiles([join(folder, 'dist')])
  const path = join(folder, 'dist', 'index.html')
  const before = await files('/index.html', [])
  await writeFile(path, '<!doctype html><title>new</title>')
  await utimes(path, new Date(), new Date(Date.now() + 2000))
  const after = await files('/index.html', [])
  expect(new TextDecoder().decode(after?.bytes)).toContain('new')
  expect(after?.etag).not.toBe(before?.etag)
})
