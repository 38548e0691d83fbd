import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Policy, PolicyDecision } from '../../frontend/src/api/types.ts'
import { validateForm } from '../../frontend/src/components/form/form-schema.ts'
import { requestOf } from '../../frontend/src/features/policies/api.ts'
import { DAYS, emptyForm, policySchema, toForm } from '../../frontend/src/features/policies/form.ts'
import { byTime, nextRuns } from '../../frontend/src/features/overview/next-runs.ts'
import { currentDecisions } from '../../frontend/src/features/policies/policy-words.ts'
import { policySettings } from '../../src/schemas/policies.ts'
import { runs } from '../support/effort.ts'

const AT = '2026-11-23T10:00:00.000Z'

const stored = (settings: object): Policy => ({
  ...policySettings.parse(settings),
  id: 'pol-1',
  managed_by: null,
  matched_tables: 0,
  suspended_tables: 0,
  gains: {
    runs: 0,
    files_removed: 0,
    delete_files_removed: 0,
    bytes_freed: 0,
    bytes_rewritten: 0,
    storage_freed_bytes: 0,
    planning_saved_ms: 0,
    scan_requests_saved: 0,
    projected: { files_removed: 0, delete_files_removed: 0, bytes_freed: 0 },
    money: null,
  },
  revision: 1,
  created_by: 'ana',
  created_at: AT,
  updated_at: AT,
})

const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const hour = fc.integer({ min: 0, max: 23 }).map((at) => `${String(at).padStart(2, '0')}:30`)
const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/St_Johns')
const globs = fc.array(fc.constantFrom('sales.*', 'a.b', '*'), { minLength: 1, maxLength: 3 })

const settings = fc
  .record({
    name: fc.constantFrom('nightly', 'Weekly 2', 'a.b-c_d'),
    tables: globs,
    except: fc.oneof(fc.constant([]), globs),
    priority: fc.integer({ min: 0, max: 1000 }),
    operations: fc.constantFrom(
      [{ operation: 'compact' }],
      [{ operation: 'expire', options: { retain_last: 3 } }, { operation: 'remove_orphans' }],
      [{ operation: 'compact', options: { where: "day >= '2026-01-01'" } }, { operation: 'rewrite_manifests' }],
    ),
    when: fc.record(
      {
        health_below: fc.integer({ min: 1, max: 100 }),
        small_files_over: fc.nat(),
        delete_ratio_over: fc.integer({ min: 0, max: 100_000 }).map((part) => part / 100_000),
        equality_delete_files_over: fc.nat(),
        snapshots_over: fc.nat(),
        commits_since_last_over: fc.nat(),
        schedule: fc.record({ cron: fc.constantFrom('0 3 * * *', '*/5 1-3 * * mon'), timezone: zone }),
      },
      { requiredKeys: ['health_below'] },
    ),
    window: optional(
      fc.record({
        timezone: zone,
        days: fc.subarray([...DAYS], { minLength: 1 }),
        from: hour,
        to: hour,
      }),
    ),
    budget: optional(
      fc.record(
        {
          bytes_per_hour: fc.integer({ min: 1, max: 2 ** 50 }),
          concurrent_operations: fc.integer({ min: 1, max: 100 }),
        },
        { requiredKeys: ['bytes_per_hour'] },
      ),
    ),
    cooldown: fc.constantFrom('1 hour', '30 minutes', '7 days'),
    mode: fc.constantFrom('shadow' as const, 'active' as const),
  })
  .map((all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)))

describe('the form of a policy', () => {
  it('makes the same policy again when nothing is changed', () => {
    fc.assert(
      fc.property(settings, (given) => {
        const policy = stored(given)
        expect(policySchema.parse(toForm(policy))).toEqual(requestOf(policy))
      }),
      { numRuns: runs(200) },
    )
  })

  it('starts with a policy in shadow mode that needs a name and tables', () => {
    const form = emptyForm()
    expect(validateForm(policySchema, form)).toEqual({ name: 'Required.', tables: expect.any(String) })
    expect(policySchema.parse({ ...form, name: 'n', tables: 'a.*\n\n b.c ' })).toEqual({
      name: 'n',
      tables: ['a.*', 'b.c'],
      except: [],
      operations: [{ operation: 'compact' }],
      when: { health_below: 80 },
      mode: 'shadow',
    })
  })

  it.each([
    [{ priority: 'high' }, 'priority'],
    [{ cooldown: 'soon' }, 'cooldown'],
    [{ budget: { bytes_per_hour: 'lots', concurrent_operations: '' } }, 'budget.bytes_per_hour'],
    [{ when: { ...emptyForm().when, health_below: '' } }, 'when'],
    [{ when: { ...emptyForm().when, delete_ratio_over: '101' } }, 'when.delete_ratio_over'],
    [{ when: { ...emptyForm().when, schedule: { cron: '99 * * * *', timezone: 'UTC' } } }, 'when.schedule.cron'],
    [{ window: { ...emptyForm().window, on: true, days: [] } }, 'window.days'],
    [{ window: { ...emptyForm().window, on: true, timezone: 'Nowhere/Land' } }, 'window.timezone'],
  ])('refuses %j at its field', (part, field) => {
    const values = { ...emptyForm(), name: 'n', tables: 'a.*', ...part }
    expect(Object.keys(validateForm(policySchema, values))).toEqual([field])
  })

  it('refuses options that are no JSON object, or none of the operation', () => {
    const form = { ...emptyForm(), name: 'n', tables: 'a.*' }
    const options = (text: string) =>
      Object.keys(
        validateForm(policySchema, {
          ...form,
          operations: { ...form.operations, compact: { on: true, options: text } },
        }),
      )
    expect(options('{')).toEqual(['operations.compact.options'])
    expect(options('[1]')).toEqual(['operations.compact.options'])
    expect(options('{"retain_last": 1}')).toHaveLength(1)
    expect(options('{"min_input_files": 2}')).toEqual([])
  })
})

describe('current decisions', () => {
  it('are the latest of each operation on each table', () => {
    const decision = (id: string, operation: PolicyDecision['operation'], updated_at: string) =>
      ({ id, operation, table: 'a.b', updated_at }) as PolicyDecision
    const list = [
      decision('old', 'compact', '2026-01-01T00:00:00Z'),
      decision('new', 'compact', '2026-01-02T00:00:00Z'),
      decision('other', 'expire', '2026-01-01T12:00:00Z'),
    ]
    expect(currentDecisions(list).map(({ id }) => id)).toEqual(['new', 'other'])
  })
})

describe('the next runs of a policy on the start page', () => {
  const run = (table: string, at: string | null) => ({
    table,
    operation: 'compact' as const,
    at,
    detail: 'health 60 is below 80',
    planned_bytes: 1,
    score: 60,
    projected_score: 100,
  })
  const decision = (table: string, outcome: PolicyDecision['outcome'], reason: PolicyDecision['reason']) =>
    ({
      id: table,
      operation: 'compact',
      table,
      outcome,
      reason,
      detail: '',
      not_before: '2026-11-23T12:00:00.000Z',
      updated_at: AT,
    }) as unknown as PolicyDecision
  const policy = (mode: 'active' | 'shadow') => ({
    ...stored({
      name: 'p',
      tables: ['*'],
      except: [],
      priority: 100,
      operations: [{ operation: 'compact' }],
      when: { health_below: 80 },
      cooldown: '1 hour',
      mode,
    }),
  })

  it('leave out a table that needs nothing although an old decision would run', () => {
    expect(nextRuns(policy('shadow'), [], [decision('a.b', 'would_run', 'due')])).toEqual([])
  })

  it('have the time and reason of the cooldown while the policy defers a run', () => {
    const runs = nextRuns(
      policy('active'),
      [run('a.b', AT), run('a.c', null)],
      [decision('a.b', 'deferred', 'cooldown')],
    )
    expect(runs).toMatchObject([
      { table: 'a.b', at: '2026-11-23T12:00:00.000Z', why: 'cooldown', outcome: 'deferred' },
      { table: 'a.c', at: null, why: 'health 60 is below 80', outcome: 'running' },
    ])
    expect(
      runs
        .toReversed()
        .toSorted(byTime)
        .map(({ table }) => table),
    ).toEqual(['a.b', 'a.c'])
  })
})
