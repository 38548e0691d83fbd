import { describe, expect, it } from 'vitest'
import { objectPage } from '../../frontend/src/features/operations/object-link.ts'
import { readAuditSearch } from '../../frontend/src/features/operations/audit/search.ts'
import { healthChanges, humanKey, kindOf, viewResult } from '../../frontend/src/features/operations/result-figures.ts'
import { listAuditQuery } from '../../src/schemas/governance.ts'

describe('the result of an operation', () => {
  it('consists of figures with their units, and collapsible parts', () => {
    const failures = [{ files: 2, bytes: 10, reason: 'no space' }]
    const view = viewResult({
      table: 'demo.events',
      rewritten_data_files_count: 170,
      rewritten_bytes_count: 1024,
      snapshot_id: '77',
      retained: null,
      partial: true,
      failures,
      groups: [],
      before: { score: 1 },
    })
    expect(view.figures).toEqual([
      { key: 'rewritten_data_files_count', kind: 'count', value: 170 },
      { key: 'rewritten_bytes_count', kind: 'bytes', value: 1024 },
      { key: 'partial', kind: 'text', value: 'yes' },
    ])
    expect(view.parts).toEqual([{ key: 'failures', value: failures }])
  })

  it('supports any result, including those of future operations', () => {
    expect(viewResult(null)).toEqual({ figures: [], parts: [] })
    expect(viewResult(['a'])).toEqual({ figures: [], parts: [{ key: '', value: ['a'] }] })
  })

  it('derives units from names', () => {
    expect(kindOf('total_size_bytes', 1)).toBe('bytes')
    expect(kindOf('bytes_read', 1)).toBe('bytes')
    expect(kindOf('duration_ms', 1)).toBe('duration')
    expect(kindOf('rows_read', 1)).toBe('count')
    expect(['rewritten_bytes_count', 'rewritten_data_files_count', 'score'].map(humanKey)).toEqual([
      'Rewritten bytes',
      'Rewritten data files',
      'Score',
    ])
  })
})

describe('health before and after', () => {
  it('shows improvements and regressions', () => {
    const changes = healthChanges(
      {
        score: 60,
        small_file_count: 170,
        snapshot_count: 17,
        manifest_count: 1,
        delete_file_count: 1,
        record_count: 5,
        note: 'x',
      },
      {
        score: 93,
        small_file_count: 11,
        snapshot_count: 19,
        manifest_count: 2,
        delete_file_count: 2,
        record_count: 6,
        partition_count: 0,
      },
    )
    expect(changes.map(({ key, verdict }) => [key, verdict])).toEqual([
      ['score', 'better'],
      ['small_file_count', 'better'],
      ['snapshot_count', 'none'],
      ['manifest_count', 'none'],
      ['delete_file_count', 'worse'],
      ['record_count', 'none'],
      ['partition_count', 'none'],
    ])
    expect(changes.at(-1)).toMatchObject({ before: null, after: 0 })
  })

  it('is empty without reports', () => {
    expect(healthChanges(null, undefined)).toEqual([])
  })
})

describe('the filters of the audit log', () => {
  it('are read from the address and accepted by the server', () => {
    const search = readAuditSearch({
      actor: ' ana ',
      object: '',
      action: 7,
      from: '2026-11-20T10:00:00Z',
      to: 'never',
      page: 2,
    })
    expect(search).toEqual({ actor: 'ana', action: '7', from: '2026-11-20T10:00:00.000Z' })
    expect(listAuditQuery.safeParse(search).success).toBe(true)
  })
})

describe('the object of an audit entry', () => {
  const page = (object_type: string, object_id: string | null, details = {}) =>
    objectPage({ object_type, object_id, details })

  it('has a page, or none', () => {
    expect(page('table', 'a.b c')).toEqual({ to: '/tables/a.b%20c' })
    expect(page('operation', 'op-1')).toEqual({ to: '/operations/op-1' })
    expect(page('version', 'ver-1', { definition_id: 'def-1' })).toEqual({
      to: '/definitions/def-1',
      search: { version: 'ver-1' },
    })
    expect(page('alert', 'alr-1')).toEqual({ to: '/settings/alerts', search: { alert: 'alr-1' } })
    expect(page('config', 'catalog')).toEqual({ to: '/settings/catalog' })
    const none = [page('version', 'ver-1'), page('session', null), page('request', '/api/x'), page('toString', 'x')]
    expect(none).toEqual([undefined, undefined, undefined, undefined])
  })
})
