import { describe, expect, it } from 'vitest'
import type { DomainError } from '../../../src/domain/errors.ts'
import {
  cursorPage,
  fromCursorPage,
  keyPage,
  offsetToken,
  pageOffset,
  toListPage,
} from '../../../src/services/paging/paging.ts'
import { caught } from '../../support/caught.ts'

const cursor = { createdAt: '2026-11-20T10:00:00.000Z', id: 'op-ü' }
const key = 'def-0123456789abcdefghijklmnop'

describe('page tokens', () => {
  it('continue after the end of the previous page, in every kind of list', () => {
    const byTime = fromCursorPage({ items: [1], next: cursor }, String)
    expect(byTime.items).toEqual(['1'])
    expect(cursorPage({ page_token: byTime.next_page_token ?? '' })).toEqual({ limit: 10_000, after: cursor })
    const byKey = toListPage([key, 'next'], 1, { key: (row) => row, view: (row) => row })
    expect(keyPage('definitions', { page_size: 1, page_token: byKey.next_page_token ?? '' })).toEqual({
      limit: 1,
      after: key,
    })
    expect(pageOffset({ page_token: offsetToken(20, 'Zürich') }, 'Zürich')).toBe(20)
    for (const token of [byTime.next_page_token, byKey.next_page_token, offsetToken(20, 'Zürich')]) {
      expect(token).toMatch(/^[\w-]+$/)
    }
  })

  it('are absent on the first and on the last page', () => {
    expect(cursorPage({})).toEqual({ limit: 10_000 })
    expect(keyPage('audit', { page_size: 5 })).toEqual({ limit: 5 })
    expect(pageOffset({}, 'any')).toBe(0)
    expect(toListPage([key], 1, { key: (row) => row, view: (row) => row }).next_page_token).toBeNull()
    expect(fromCursorPage({ items: [] }, String).next_page_token).toBeNull()
  })

  it.each([
    'x',
    '!!',
    '%00',
    btoa('null'),
    btoa('{}'),
    btoa('[1,2]'),
    btoa('["a"]'),
    btoa('["a","b","c"]'),
    btoa('"def-x"'),
    btoa('-1'),
    btoa('[-1,"v"]'),
    btoa('[1e99,"v"]'),
    btoa('[20,"v2"]'),
  ])('that no list returned are refused: %j', (page_token) => {
    for (const read of [
      () => cursorPage({ page_token }),
      () => keyPage('definitions', { page_token }),
      () => keyPage('audit', { page_token }),
      () => pageOffset({ page_token }, 'v'),
    ]) {
      const error = caught(read) as DomainError
      expect(error.code).toBe('INVALID_REQUEST')
      expect(error.fields).toEqual([{ path: 'page_token', message: 'must be the next_page_token of an answer' }])
    }
  })

  it('of another list are refused', () => {
    const { next_page_token } = toListPage([7, 8], 1, { key: (row) => row, view: (row) => row })
    const page_token = next_page_token ?? ''
    expect(keyPage('audit', { page_token })).toMatchObject({ after: '7' })
    for (const read of [() => cursorPage({ page_token }), () => keyPage('chats', { page_token })]) {
      expect(caught(read)).toMatchObject({ code: 'INVALID_REQUEST' })
    }
  })
})
