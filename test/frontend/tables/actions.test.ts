import { describe, expect, test } from 'vitest'
import { compareHealth, figuresOf } from '../../../frontend/src/features/tables/actions/action-figures.ts'
import { type ActionKind, ACTIONS } from '../../../frontend/src/features/tables/actions/action-specs.ts'
import { affectedPipelines, neededFor } from '../../../frontend/src/features/tables/actions/affected-pipelines.ts'
import { describeColumnChanges } from '../../../frontend/src/features/tables/actions/column-changes.ts'
import { validateForm } from '../../../frontend/src/components/form/form-schema.ts'
import { actionSchema } from '../../../frontend/src/features/tables/actions/action-schema.ts'
import { parseSize } from '../../../frontend/src/components/form/parse-size.ts'
import { fillForm, fillTarget, type FormValues } from '../../../frontend/src/features/tables/actions/form-values.ts'
import { details as detailNames } from '../../../frontend/src/strings/table-actions.ts'
import { isWithoutEffect, OPERATIONS, REQUESTED_KINDS } from '../../../src/domain/tables/operations.ts'
import { OPERATION_REQUESTS } from '../../../src/schemas/tables/maintenance.ts'

const ZONE = 'Europe/Berlin'

const TABLE = 'demo.orders'

/** The request of a form, without the table. */
function requestOf(kind: ActionKind, values: FormValues) {
  const { table, ...request } = actionSchema(kind, TABLE, ZONE).parse(values)
  expect(table).toBe(TABLE)
  return request
}

/** The fields with errors. */
function refused(kind: ActionKind, values: FormValues): string[] {
  return Object.keys(validateForm(actionSchema(kind, TABLE, ZONE), values))
}

/** Fields of every request. */
const SERVICE: readonly string[] = ['table', 'dry_run', 'plan_id']

/** Fields that no form has: `accept_pipelines` is asked for after the preview. */
const COMMON: readonly string[] = [...SERVICE, 'accept_pipelines']

describe('forms and requests of the service', () => {
  test('times of a form are in the zone of the page', () => {
    expect(requestOf('expire', { older_than: '2026-11-20T10:00:05' })).toEqual({
      older_than: '2026-11-20T09:00:05.000Z',
    })
    expect(fillForm(ACTIONS.expire, { older_than: '2026-11-20T09:00:05.000Z' }, 'UTC')).toEqual({
      older_than: '2026-11-20T09:00:05',
    })
  })

  test('a rollback has a snapshot or a time, in the zone of the page', () => {
    expect(requestOf('rollback', { snapshot_id: '42', to_timestamp: '2026-11-20T10:00' })).toEqual({
      snapshot_id: '42',
    })
    const byTime = { by: 'time', to_timestamp: '2026-11-20T10:00', snapshot_id: '42' }
    expect(requestOf('rollback', byTime)).toEqual({ to_timestamp: '2026-11-20T09:00:00.000Z' })
    expect(refused('rollback', {})).toEqual(['snapshot_id'])
    expect(refused('rollback', { by: 'time' })).toEqual(['to_timestamp'])
  })

  test('the target of an address fills a snapshot, a time or a column', () => {
    expect(fillTarget(ACTIONS.rollback, '3051729675574597004', ZONE)).toEqual({ snapshot_id: '3051729675574597004' })
    expect(fillTarget(ACTIONS.rollback, '2026-11-20T09:00:00.000Z', ZONE)).toEqual({
      by: 'time',
      to_timestamp: '2026-11-20T10:00:00',
    })
    expect(fillTarget(ACTIONS.drop_column, '2026-11-20', ZONE)).toEqual({ name: '2026-11-20' })
    expect(fillTarget(ACTIONS.compact, 'x', ZONE)).toEqual({})
  })

  test.each(REQUESTED_KINDS)('%s: the form has exactly the options of the request', (kind) => {
    const options = Object.keys(OPERATION_REQUESTS[kind].shape).filter((name) => !COMMON.includes(name))
    const fields = ACTIONS[kind].fields.filter(({ local }) => local !== true).map(({ name }) => name)
    const placed = fields.includes('after') ? [...fields, 'first'] : fields
    expect(placed.toSorted()).toEqual(options.toSorted())
  })

  test.each(REQUESTED_KINDS)('%s: the list of operations names the fields of the request', (kind) => {
    const options = Object.keys(OPERATION_REQUESTS[kind].shape).filter((name) => !SERVICE.includes(name))
    expect([...OPERATIONS[kind].request.fields].toSorted()).toEqual(options.toSorted())
  })

  const FILLED: Readonly<Record<ActionKind, Readonly<Record<string, string | boolean>>>> = {
    compact: {
      strategy: 'sort',
      sort_order: 'a ASC',
      where: 'a > 1',
      target_file_size_bytes: '512 MiB',
      min_file_size_bytes: '1000',
      max_file_size_bytes: '1.5GiB',
      min_input_files: '1,000',
      delete_file_threshold: '2',
      delete_ratio_threshold: '0.3',
      max_files_to_rewrite: '10',
      max_bytes_to_rewrite: '10 GiB',
      rewrite_all: true,
      partial_progress: true,
    },
    expire: {
      older_than: '2026-11-20T10:00',
      retain_last: '5',
      snapshot_ids: '6816997371555012807, 42',
      clean_expired_metadata: true,
    },
    add_column: { name: ' a.b ', type: 'string', position: 'after', after: 'x', comment: 'why' },
    rename_column: { name: 'a', new_name: 'b', force: true },
    drop_column: { name: 'a', force: true },
    convert_deletes: { where: "day = '2026-01-01'" },
    rewrite_position_deletes: {
      where: "day = '2026-01-01'",
      target_file_size_bytes: '64 MiB',
      min_input_files: '2',
      rewrite_all: true,
    },
    rewrite_manifests: {},
    remove_orphans: { older_than: '2026-11-01T00:00' },
    rollback: { snapshot_id: '6816997371555012807' },
  }

  test.each(REQUESTED_KINDS)(
    '%s: a filled form produces a request that the service accepts, and is restored from it',
    (kind) => {
      expect(refused(kind, FILLED[kind])).toEqual([])
      const request = requestOf(kind, FILLED[kind])
      expect(OPERATION_REQUESTS[kind].parse({ table: TABLE, ...request })).toEqual({ table: TABLE, ...request })
      expect(requestOf(kind, fillForm(ACTIONS[kind], request, ZONE))).toEqual(request)
    },
  )

  test('an empty form requests defaults, or reports required fields', () => {
    expect(requestOf('compact', {})).toEqual({})
    expect(refused('add_column', { name: '  ' })).toEqual(['name', 'type'])
    expect(refused('add_column', { name: 'a', type: 'int', position: 'after' })).toEqual(['after'])
  })

  test('a field that does not apply is not sent', () => {
    expect(requestOf('compact', { strategy: 'binpack', sort_order: 'left over' })).toEqual({
      strategy: 'binpack',
    })
    const first = requestOf('add_column', { name: 'a', type: 'int', position: 'first', after: 'left over' })
    expect(first).toEqual({ name: 'a', type: 'int', first: true })
    expect(requestOf('compact', { rewrite_all: false, verify: '' })).toEqual({})
    const columns = ['a', 'odd, "name"']
    const curve = { strategy: 'hilbert', columns }
    expect(requestOf('compact', { ...fillForm(ACTIONS.compact, curve, ZONE), sort_order: 'left over' })).toEqual(curve)
    expect(requestOf('compact', { strategy: 'sort', columns: JSON.stringify(columns) })).toEqual({ strategy: 'sort' })
  })

  test.each([
    ['min_input_files', '0'],
    ['min_input_files', '2.5'],
    ['min_input_files', 'many'],
    ['delete_ratio_threshold', '0'],
    ['delete_ratio_threshold', '1.1'],
    ['target_file_size_bytes', '512 furlongs'],
    ['target_file_size_bytes', '-1'],
  ])('compact refuses %s %j beside the field', (name, value) => {
    expect(refused('compact', { [name]: value })).toEqual([name])
  })

  test('ids of snapshots keep all digits, and invalid ones are refused', () => {
    expect(requestOf('expire', { snapshot_ids: ' 1\n9223372036854775807 ' })).toEqual({
      snapshot_ids: ['1', '9223372036854775807'],
    })
    expect(refused('expire', { snapshot_ids: '1; 2' })).toEqual(['snapshot_ids'])
    expect(refused('expire', { older_than: 'yesterday' })).toEqual(['older_than'])
  })
})

test.each([
  ['512 MiB', 536_870_912],
  ['1.5gib', 1_610_612_736],
  ['10 MB', 10_000_000],
  ['42', 42],
  ['', undefined],
  ['MiB', undefined],
  ['1 e3', undefined],
])('the size %j is %j bytes', (text, bytes) => {
  expect(parseSize(text)).toBe(bytes)
})

describe('previews and results', () => {
  test('figures have a label; empty figures are left out, except the main ones', () => {
    const figures = figuresOf('compact', {
      rewritten_data_files_count: 240,
      added_data_files_count: 0,
      rewritten_bytes_count: 2_621_440,
      rows_deleted: 0,
      base_snapshot_id: '7',
      something_else: 5,
    })
    expect(figures.map(({ label, text }) => `${label}: ${text}`)).toEqual([
      `${detailNames.rewritten_data_files_count}: 240`,
      `${detailNames.added_data_files_count}: 0`,
      `${detailNames.rewritten_bytes_count}: 2.5 MiB`,
    ])
  })

  test('a preview without effect cannot be applied', () => {
    expect(isWithoutEffect('compact', { rewritten_data_files_count: 0 })).toBe(true)
    expect(isWithoutEffect('compact', { rewritten_data_files_count: 1 })).toBe(false)
    expect(isWithoutEffect('expire', { expired_snapshots_count: 0, removed_refs: [] })).toBe(true)
    expect(isWithoutEffect('expire', { expired_snapshots_count: 0, removed_refs: ['old'] })).toBe(false)
    expect(isWithoutEffect('remove_orphans', { orphan_files_count: 0 })).toBe(true)
    expect(isWithoutEffect('rename_column', {})).toBe(false)
  })

  test('health before and after: better, worse, or neither', () => {
    const before = { score: 60, data_file_count: 240, delete_file_count: 12, snapshot_count: 36, record_count: 10 }
    const after = { score: 100, data_file_count: 1, delete_file_count: 13, snapshot_count: 37, record_count: 10 }
    const rows = Object.fromEntries(compareHealth(before, after).map((row) => [row.name, row]))
    expect(rows['score']).toMatchObject({ before: '60', after: '100', delta: '+40', better: true })
    expect(rows['data_file_count']).toMatchObject({ delta: '−239', better: true })
    expect(rows['delete_file_count']).toMatchObject({ delta: '+1', better: false })
    expect(rows['snapshot_count']).toMatchObject({ delta: '+1', better: undefined })
    expect(rows['record_count']).toMatchObject({ changed: false, better: undefined })
    expect(rows['manifest_count']).toBeUndefined()
  })

  test('columns are distinguished by their ids', () => {
    const of = (id: number, path: string) => ({ id, path, type: 'string' })
    const before = [of(1, 'a'), of(2, 'b'), of(3, 'c')]
    const after = [of(1, 'a'), of(3, 'b'), of(4, 'a2')]
    expect(describeColumnChanges(before, after).map(({ path, change, was }) => [path, change, was])).toEqual([
      ['a', undefined, undefined],
      ['b', 'dropped', undefined],
      ['b', 'renamed', 'c'],
      ['a2', 'added', undefined],
    ])
    expect(describeColumnChanges(undefined, [{ id: 1 }])).toEqual([])
  })
})

describe('pipelines that a rollback affects', () => {
  const listed = (required: string) => ({
    pipeline_id: 'pipe-1',
    role: 'sink',
    state: 'stopped',
    required,
    consequence: 'Its batch 3 would be removed.',
  })

  test('are read from the preview, and decide what is needed', () => {
    const [pipeline] = affectedPipelines({ affected_pipelines: [listed('accept')] })
    expect(pipeline).toEqual({
      id: 'pipe-1',
      role: 'sink',
      state: 'stopped',
      consequence: 'Its batch 3 would be removed.',
      mustStop: false,
    })
    const needed = (...required: string[]) => neededFor(affectedPipelines({ affected_pipelines: required.map(listed) }))
    expect([needed(), needed('accept'), needed('accept', 'stop')]).toEqual(['nothing', 'accept', 'stop'])
  })

  test('are none in other previews; a requirement that is not known is no permission', () => {
    expect(neededFor(affectedPipelines({}))).toBe('nothing')
    expect(neededFor(affectedPipelines({ affected_pipelines: [listed('later')] }))).toBe('stop')
  })
})
