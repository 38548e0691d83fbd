import { describe, expect, test } from 'vitest'
import { readAllPages } from '../../frontend/src/api/read-all.ts'
import { ManyChanges } from '../../frontend/src/components/selection/many-changes.ts'
import { shortcutRegistry } from '../../frontend/src/components/shortcuts/registry.ts'
import type { ExportedColumn } from '../../frontend/src/components/table/columns.ts'
import { exportText } from '../../frontend/src/components/table/list/export-rows.ts'
import { parseViews, withView } from '../../frontend/src/components/table/list/saved-views.ts'
import { formatHidden, withoutHidden } from '../../frontend/src/components/table/list/shown-columns.ts'
import { sizeOf, unseen } from '../../frontend/src/features/inbox/use-inbox.ts'
import { isRecent } from '../../frontend/src/features/inbox/api.ts'
import { parseIds, withIds } from '../../frontend/src/features/operations/seen.ts'
import { allowedDialogs } from '../../frontend/src/features/pipelines/pipeline-dialogs.ts'
import { actionsInText } from '../../frontend/src/features/tables/actions/actions-in-text.ts'
import { offeredActions } from '../../frontend/src/features/tables/actions/offered-actions.ts'
import { rememberedSearch, rememberSearch, viewOf } from '../../frontend/src/list-addresses.ts'

interface Row {
  readonly id: string
  readonly name: string
  readonly size: number | null
  readonly refs: readonly string[]
}

const COLUMNS: readonly ExportedColumn<Row>[] = [
  { id: 'select', header: 'Selection', value: null },
  { id: 'name', header: 'Name', sortValue: ({ name }) => name },
  { id: 'snapshot', header: 'Snapshot', value: ({ id }) => id },
  { id: 'size', header: 'Size', sortValue: ({ size }) => size },
  { id: 'refs', header: 'Refs', value: ({ refs }) => refs },
]
const ROWS: readonly Row[] = [
  { id: '9223372036854775807', name: '=HYPERLINK("http://x")', size: 1.5, refs: ['main', 'a"b'] },
  { id: '-9223372036854775808', name: 'plain', size: null, refs: [] },
]

describe('an exported list', () => {
  test('keeps 64-bit numbers, and has no formulas of others, in CSV', () => {
    expect(exportText('csv', COLUMNS, ROWS)).toBe(
      'Name,Snapshot,Size,Refs\r\n' +
        `"'=HYPERLINK(""http://x"")",9223372036854775807,1.5,"main, a""b"\r\n` +
        'plain,-9223372036854775808,,""\r\n',
    )
  })

  test('names values by their columns in JSON', () => {
    expect(JSON.parse(exportText('json', COLUMNS, ROWS))).toEqual([
      { name: '=HYPERLINK("http://x")', snapshot: '9223372036854775807', size: 1.5, refs: ['main', 'a"b'] },
      { name: 'plain', snapshot: '-9223372036854775808', size: null, refs: [] },
    ])
    expect(exportText('json', COLUMNS, [])).toBe('[]\n')
  })

  test('reads all pages in order, and reports a list that has more', async () => {
    const asked: number[] = []
    const list = (pages: number) => ({
      queryKey: ['list'],
      queryFn: ({ pageParam }: { readonly pageParam: number }) => {
        asked.push(pageParam)
        return Promise.resolve({ items: [pageParam, -pageParam], next: pageParam < pages ? pageParam + 1 : undefined })
      },
      initialPageParam: 1,
      getNextPageParam: ({ next }: { readonly next: number | undefined }) => next,
    })
    const itemsOf = ({ items }: { readonly items: readonly number[] }) => items
    expect(await readAllPages(list(3), itemsOf)).toEqual({ rows: [1, -1, 2, -2, 3, -3], isCut: false })
    asked.length = 0
    const cut = await readAllPages(list(101), itemsOf)
    expect(cut.isCut).toBe(true)
    expect(cut.rows).toHaveLength(200)
    expect(asked).toHaveLength(100)
    expect((await readAllPages(list(100), itemsOf)).isCut).toBe(false)
  })
})

describe('a view of a list', () => {
  test('consists of filters, sort order, columns and tab, and opens no dialog', () => {
    const search = {
      q: 'orders',
      sort: '-size',
      hide: 'held',
      tab: 'files',
      action: 'compact',
      op: 'op-1',
      entry: '',
      n: 1,
    }
    expect(viewOf(search)).toEqual({ hide: 'held', q: 'orders', sort: '-size', tab: 'files' })
    rememberSearch('/definitions', { q: 'x', action: 'create' })
    expect(rememberedSearch('/definitions')).toEqual({ q: 'x' })
  })

  test('hides columns by their ids, but never the name of a row or its buttons', () => {
    const shown = withoutHidden(COLUMNS, 'size,name,select,unknown').map(({ id }) => id)
    expect(shown).toEqual(['select', 'name', 'snapshot', 'refs'])
    expect(withoutHidden(COLUMNS, undefined)).toBe(COLUMNS)
    expect(formatHidden(new Set(['size', 'held']))).toBe('held,size')
    expect(formatHidden(new Set())).toBeUndefined()
  })

  test('is stored by name; stored texts of others are ignored', () => {
    const first = { name: 'b', search: { q: '1' } }
    expect(withView([first], { name: 'a', search: {} }).map(({ name }) => name)).toEqual(['a', 'b'])
    expect(withView([first], { name: 'b', search: { q: '2' } })).toEqual([{ name: 'b', search: { q: '2' } }])
    for (const text of [
      null,
      '',
      '[]',
      '7',
      'null',
      '{"tables":7}',
      '{"tables":[null,{"name":1},{"name":"x","search":{"q":1}}]}',
    ]) {
      expect(parseViews(text)['tables'] ?? [], String(text)).toEqual([])
    }
    expect(parseViews(JSON.stringify({ tables: [first] }))['tables']).toEqual([first])
  })
})

describe('the quick search', () => {
  const tables = ['demo.events', 'demo.orders', 'sales.orders']

  test('finds actions on tables by the beginnings of their words', () => {
    const kinds = offeredActions('DataEngineer')
    expect(actionsInText('compact ord', tables, kinds)).toEqual([
      { kind: 'compact', table: 'demo.orders' },
      { kind: 'compact', table: 'sales.orders' },
    ])
    expect(actionsInText(' Expire SNAP events ', tables, kinds)).toEqual([{ kind: 'expire', table: 'demo.events' }])
    for (const text of ['', 'compact', 'orders', 'compact nothing', 'roll back orders']) {
      expect(actionsInText(text, tables, kinds), text).toEqual([])
    }
  })

  test('offers each role what its menu offers', () => {
    expect(offeredActions('Auditor')).toEqual([])
    expect(offeredActions(undefined)).toEqual([])
    expect(offeredActions('DataEngineer')).not.toContain('rollback')
    expect(offeredActions('LeadDataEngineer')).toContain('rollback')
  })

  test('offers what the state of a pipeline allows', () => {
    const pipeline = (state: 'running' | 'stopping' | 'failed', desired: 'running' | 'stopped') =>
      allowedDialogs({ state, desired_state: desired } as Parameters<typeof allowedDialogs>[0])
    expect(pipeline('running', 'running')).toEqual(['stop'])
    expect(pipeline('stopping', 'stopped')).toEqual([])
    expect(pipeline('failed', 'running')).toEqual(['remove', 'restart'])
  })
})

test('the help lists each shortcut once, while its component is on the page', () => {
  const lists = { place: 'In lists', shortcuts: [{ keys: ['Home', 'End'], label: 'Ends' }] }
  const leave = [
    shortcutRegistry.register({
      place: 'Everywhere',
      shortcuts: [
        { keys: ['/'], label: 'Search' },
        { keys: ['mod+K'], label: 'Search' },
      ],
    }),
    shortcutRegistry.register(lists),
    shortcutRegistry.register({ ...lists }),
  ]
  expect(shortcutRegistry.groups()).toEqual([
    { place: 'Everywhere', shortcuts: [{ keys: ['/', 'mod+K'], label: 'Search' }] },
    lists,
  ])
  leave[1]?.()
  expect(shortcutRegistry.groups()).toHaveLength(2)
  for (const each of leave) each()
  expect(shortcutRegistry.groups()).toEqual([])
})

test('a change of many rows sends each once, and one that fails stops no other', async () => {
  const sent: number[] = []
  const run = new ManyChanges([1, 2, 3, 4, 5, 6, 7], {
    leftOut: (row) => (row === 2 ? 'not this one' : undefined),
    apply: (row) => {
      sent.push(row)
      return row === 3 ? Promise.reject(new Error('changed meanwhile')) : Promise.resolve()
    },
  })
  let told = 0
  const leave = run.subscribe(() => (told += 1))
  await Promise.all([run.apply(), run.apply()]) // a double click
  leave()
  expect(sent.toSorted()).toEqual([1, 3, 4, 5, 6, 7])
  expect(run.rows().map(({ step }) => step)).toEqual(['done', 'left-out', 'failed', 'done', 'done', 'done', 'done'])
  expect(run.rows()[2]).toMatchObject({ reason: 'changed meanwhile' })
  expect(told).toBeGreaterThan(6)
})

test('the inbox forgets what the user has looked at, and what is old', () => {
  const operation = (id: string) => ({ id }) as never
  const inbox = {
    approvals: [],
    operations: [operation('a'), operation('b')],
    policies: [],
    pipelines: [operation('p')],
  }
  expect(sizeOf(inbox)).toBe(3)
  expect(unseen(inbox, new Set(['a'])).operations).toEqual([{ id: 'b' }])
  expect(parseIds('{"a":1}')).toEqual([])
  expect(parseIds('["a",1]')).toEqual(['a'])
  const known = Array.from({ length: 1000 }, (_each, at) => String(at))
  expect(withIds(known, ['3'])).toBe(known)
  expect(withIds(known, ['new', 'new']).slice(-2)).toEqual(['999', 'new'])
  const now = Date.parse('2026-01-10T00:00:00Z')
  expect(isRecent('2026-01-04T00:00:00Z', now)).toBe(true)
  expect(isRecent('2026-01-02T00:00:00Z', now)).toBe(false)
})
