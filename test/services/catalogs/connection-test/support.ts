import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { ConnectionCheck, ConnectionTest } from '../../../../src/schemas/tables/catalog-test.ts'
import type { Answer, TestService } from '../../../support/service.ts'

/** Every file and folder below a folder, with a hash of the bytes of files; a test must leave them as they were. */
export async function contentOf(folder: string): Promise<ReadonlyMap<string, string>> {
  const content = new Map<string, string>()
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name)
    content.set(path, entry.isFile() ? await hashOf(path) : 'folder')
  }
  return content
}

async function hashOf(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex')
}

/** The result of a test that must have been carried out. */
export function resultOf({ status, body }: Answer): ConnectionTest {
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

/** Outcomes by check, such as `reach: ok`. */
export function outcomes({ checks }: ConnectionTest): readonly string[] {
  return checks.map(({ check, outcome }) => `${check}: ${outcome}`)
}

export function find({ checks }: ConnectionTest, name: ConnectionCheck['check']): ConnectionCheck {
  const found = checks.find(({ check }) => check === name)
  if (found === undefined) throw new Error(`no check ${name}`)
  return found
}

/** Tests settings that are not stored. */
export async function testDraft(service: TestService, settings: object, query = ''): Promise<ConnectionTest> {
  return resultOf(await service.post(`/api/config/test${query}`, settings))
}
